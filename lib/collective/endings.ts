// Ranks end with their thread or process: the others then learn it in their next call.
import type { Ending } from "./fingerprint";

interface Ends {
  readonly rank: number;
  end(ending: Ending): void;
}

const open = new Set<Ends>();
const last = new Set<() => void>();
let threw = false;
let listening = false;

function listen(): void {
  if (listening) return;
  listening = true;
  process.on("uncaughtExceptionMonitor", () => {
    threw = true;
  });
  process.on("exit", (code) => {
    for (const one of open) one.end({ reason: threw ? "threw" : "exited", cause: one.rank, code });
    for (const leave of last) leave();
  });
}

/** `end` is called when the thread ends, unless the rank has ended before. */
export function endWithThread(one: Ends): void {
  listen();
  open.add(one);
}

export function hasEnded(one: Ends): void {
  open.delete(one);
}

/** `leave` is called when the thread ends, after all its ranks have. */
export function afterEndings(leave: () => void): void {
  listen();
  last.add(leave);
}
