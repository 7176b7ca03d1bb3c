#!/usr/bin/env node
// The process around run(): its streams, and the ways to be stopped.
import { run } from "./run";
import { EXIT } from "./shell/exit-codes";
import { Stopped } from "./shell/host";
import { sweep } from "./shell/outputs";

const controller = new AbortController();

const SIGNALS = { SIGINT: EXIT.interrupted, SIGTERM: EXIT.terminated, SIGHUP: EXIT.hangup } as const;
for (const [name, code] of Object.entries(SIGNALS))
  process.on(name, () => {
    // The second time there is no waiting for the work to notice.
    if (controller.signal.aborted) process.exit(code);
    controller.abort(new Stopped(`stopped by ${name}; nothing was written`, code));
  });

let pipeClosed = false;
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  pipeClosed = true;
  process.exitCode = EXIT.closedPipe;
  controller.abort(new Stopped("standard output was closed", EXIT.closedPipe));
});
// Nobody is left to be told.
process.stderr.on("error", () => undefined);
process.on("exit", sweep);

const { stdout, stderr, stdin, env, argv } = process;
void run(argv.slice(2), { stdout, stderr, stdin, env, signal: controller.signal }).then((code) => {
  stdin.destroy(); // nobody waits for more
  if (!pipeClosed) process.exitCode = code;
});
