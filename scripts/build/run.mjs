// Runs a tool and keeps what it said, so that success is silent and failure shows everything.

import { spawn } from "node:child_process";
import { root } from "./paths.mjs";

export class ToolFailed extends Error {
  constructor(what, output) {
    super(`${what} failed`);
    this.output = output;
  }
}

/** Resolves to { status, stdout, stderr }; status is null when the tool could not be started. */
export function attempt(command, args, { cwd = root, env } = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text) => (stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text) => (stderr += text));
    child.on("error", (error) => resolve({ status: null, stdout, stderr: stderr + error.message }));
    child.on("close", (status) => resolve({ status, stdout, stderr }));
  });
}

/** The same, but anything other than exit status 0 is an error that carries the output. */
export async function run(what, command, args, options) {
  const result = await attempt(command, args, options);
  if (result.status !== 0) throw new ToolFailed(what, result.stdout + result.stderr);
  return result;
}

/**
 * Maps with at most `width` tasks under way; the results keep the order of the items. After a failure
 * nothing new starts, and it is thrown when the tasks under way have ended.
 */
export async function inParallel(width, items, task) {
  const results = new Array(items.length);
  const failures = [];
  let next = 0;
  const lane = async () => {
    while (next < items.length && failures.length === 0) {
      const index = next++;
      try {
        results[index] = await task(items[index]);
      } catch (error) {
        failures.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: width }, lane));
  if (failures.length > 0) throw failures[0];
  return results;
}
