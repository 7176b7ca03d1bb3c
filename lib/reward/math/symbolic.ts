// Questions to the symbolic library, one at a time, each with a time limit.
import { Worker } from "node:worker_threads";

import { SurprisalError } from "../../core/errors";
import { builtFile } from "../../core/package-root";
import { locatePeer } from "../../core/peer";
import type { SymbolicQuestion } from "./symbolic-program";

type SymbolicAnswer = "equal" | "different" | "time limit";

/** Loading the library takes seconds on a busy machine; the time limit counts from then on. */
const FIRST: SymbolicQuestion = { a: "x", b: "x" };
const START_LIMIT = 60_000;
const HEAP_MIB = 512;

interface Message {
  readonly equal: boolean;
}

class SymbolicWorker {
  #worker: Worker | undefined;
  #last: Promise<unknown> = Promise.resolve();
  readonly #known = new Map<string, SymbolicAnswer>();

  /** Whether two LaTeX expressions are equal. */
  async ask(op: string, question: SymbolicQuestion, timeLimit: number): Promise<SymbolicAnswer> {
    const key = JSON.stringify([question.a, question.b]);
    const turn = this.#last.then(async () => this.#known.get(key) ?? this.#answer(op, question, timeLimit));
    this.#last = turn.catch(() => undefined);
    const answer = await turn;
    // The completions of a group give few different answers.
    if (this.#known.size > 10_000) this.#known.clear();
    if (answer !== "time limit") this.#known.set(key, answer);
    return answer;
  }

  async #answer(op: string, question: SymbolicQuestion, timeLimit: number): Promise<SymbolicAnswer> {
    if (!this.#worker) {
      const path = locatePeer(op, "@cortex-js/compute-engine", "0.140");
      const worker = new Worker(builtFile("reward", "math", "symbolic-program.js"), {
        workerData: path,
        env: {},
        stdout: true,
        stderr: true,
        resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB },
      });
      worker.unref();
      this.#worker = worker;
      const started = await this.#exchange(worker, FIRST, START_LIMIT);
      if (started === null) {
        this.dispose();
        throw new SurprisalError("ERR_SURPRISAL_SANDBOX", `${op}: @cortex-js/compute-engine does not start`, { op });
      }
    }
    const message = await this.#exchange(this.#worker, question, timeLimit);
    if (message === null) {
      this.dispose();
      return "time limit";
    }
    return message.equal ? "equal" : "different";
  }

  /** null: no answer in time, or the worker died of it. */
  #exchange(worker: Worker, question: SymbolicQuestion, timeLimit: number): Promise<Message | null> {
    return new Promise((done) => {
      const end = (message: Message | null): void => {
        clearTimeout(timer);
        worker.off("message", end).off("error", die).off("exit", die);
        worker.unref();
        done(message);
      };
      const die = (): void => end(null);
      const timer = setTimeout(die, timeLimit);
      worker.ref();
      worker.on("message", end).on("error", die).on("exit", die);
      worker.postMessage(question);
    });
  }

  dispose(): void {
    // An error that arrives while the worker ends concerns no question.
    this.#worker?.on("error", () => undefined);
    void this.#worker?.terminate();
    this.#worker = undefined;
  }
}

export const symbolicWorker = new SymbolicWorker();
