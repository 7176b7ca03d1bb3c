// Runs side by side, one a core: training is single-threaded, and runs do not depend on each other.
import { type ChildProcess, fork } from "node:child_process";
import { availableParallelism } from "node:os";
import * as path from "node:path";
import type { KeptRun, RunResult } from "./run";
import type { WorkerMessage } from "./worker";

/** Results in the order of `runs`. The first failure ends all of them. */
export async function runAll(
  runs: readonly KeptRun[],
  onStep: (run: KeptRun, step: number, reward: number) => void,
): Promise<RunResult[]> {
  const results: RunResult[] = [];
  const waiting = runs.keys();
  const workers: ChildProcess[] = [];

  function work(): Promise<void> {
    // With this process's own loader for TypeScript; typed arrays come over as such.
    const worker = fork(path.join(__dirname, "worker.ts"), { serialization: "advanced" });
    workers.push(worker);
    return new Promise((resolve, reject) => {
      let current: number | undefined;
      const next = (): void => {
        current = waiting.next().value;
        if (current === undefined) resolve();
        else worker.send(runs[current]!);
      };
      worker.on("error", reject);
      worker.on("exit", (code, signal) =>
        reject(new Error(`a training process ended early (${signal ?? `exit code ${code}`})`)),
      );
      worker.on("message", (message: WorkerMessage) => {
        if (message.kind === "ready") return next();
        if (message.kind === "step") return onStep(runs[current!]!, message.step, message.reward);
        results[current!] = message.result;
        next();
      });
    });
  }

  try {
    await Promise.all(Array.from({ length: Math.min(availableParallelism(), runs.length) }, work));
  } finally {
    for (const worker of workers) worker.kill();
  }
  return results;
}
