// A worker process: trains the runs it is sent, one after the other.
import { startJax } from "./network";
import { type KeptRun, type RunResult, runAndKeep } from "./run";

export type WorkerMessage =
  | { readonly kind: "ready" }
  | { readonly kind: "step"; readonly step: number; readonly reward: number }
  | { readonly kind: "done"; readonly result: RunResult };

async function serve(): Promise<void> {
  const send = (message: WorkerMessage): boolean | undefined => process.send?.(message);
  await startJax();
  process.on("message", (run: KeptRun) => {
    // A failure is not caught here: it ends this process, and its text goes to stderr.
    void runAndKeep(run, (step, reward) => send({ kind: "step", step, reward })).then((result) =>
      send({ kind: "done", result }),
    );
  });
  process.on("disconnect", () => process.exit()); // the process that wanted the results is gone
  send({ kind: "ready" });
}

void serve();
