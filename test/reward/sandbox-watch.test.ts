// The thread that ends a sandbox's process, in a process of its own: whatever else bounds memory and time, it has the last word.
import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Duplex } from "node:stream";
import { LIFELINE } from "../../lib/reward/code/protocol";
import { distFile } from "../support/dist";

/** A process that is idle but for the watch of its memory: its lifeline, and how it ended with what the lifeline said. */
function watched(mostBytes: number) {
  const program = `
new (require("node:worker_threads").Worker)(${JSON.stringify(distFile("reward", "code", "watch.js"))}, { workerData: ${mostBytes} });
setInterval(() => undefined, 1e6);`;
  const child = spawn(process.execPath, ["-e", program], { stdio: ["ignore", "ignore", "inherit", "ignore", "pipe"] });
  const lifeline = child.stdio[LIFELINE] as Duplex;
  let said = "";
  lifeline.on("data", (bytes: Buffer) => (said += bytes.toString()));
  lifeline.on("error", () => undefined); // what is written to a process that has ended
  return { lifeline, ended: once(child, "close").then(([, signal]) => [signal as unknown, said]) };
}

test("more memory than it may have ends it, and it says so", async () => {
  expect(await watched(1).ended).toEqual(["SIGKILL", "m"]);
});

test("the processor time that is left ends it, and it says so", async () => {
  const { lifeline, ended } = watched(2 ** 40);
  lifeline.write(Uint8Array.of(1, 0, 0, 0));
  expect(await ended).toEqual(["SIGKILL", "t"]);
});

test("it ends with its owner", async () => {
  const { lifeline, ended } = watched(2 ** 40);
  lifeline.end();
  expect(await ended).toEqual(["SIGKILL", ""]);
});
