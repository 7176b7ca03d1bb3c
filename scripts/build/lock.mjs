// One build at a time in a working tree: a second one waits, then finds everything up to date.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { at } from "./paths.mjs";

const folder = at(".build-lock");
const WAIT_MS = 300;

export async function withLock(work) {
  while (!take()) await sleep(WAIT_MS);
  try {
    return await work();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function take() {
  try {
    mkdirSync(folder);
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
    if (holderIsGone()) rmSync(folder, { recursive: true, force: true });
    return false;
  }
  writeFileSync(`${folder}/pid`, String(process.pid));
  return true;
}

/** A build that was killed leaves its lock: no process has that id any more. */
function holderIsGone() {
  let holder;
  try {
    holder = Number(readFileSync(`${folder}/pid`, "utf8"));
  } catch {
    return false; // being taken or released right now
  }
  if (!(holder > 0)) return false;
  try {
    process.kill(holder, 0);
    return false;
  } catch (error) {
    return error.code === "ESRCH";
  }
}
