// Runs one program on several worker threads that share a collective, on what is built: a worker loads dist/, as a user's does.
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { distFile } from "./dist";
import type * as surprisal from "../../lib";
import {
  createCollective,
  type CreateCollectiveOptions,
  watchWorker,
  type OpenedCollective,
} from "../../lib/collective";
import { HANG_MS } from "./hang";

const dist = distFile();

/** What became of a rank: its value, the SurprisalError it caught, or how it ended without either. */
export interface Outcome<T> {
  readonly value?: T;
  readonly error?: { readonly code: string; readonly message: string };
  /** The message of an error that nothing caught. */
  readonly uncaught?: string;
  readonly exitCode: number;
}

/** Travels as text: it sees its arguments and what a module of Node sees, nothing of the file it stands in. */
export type RankProgram<Input, T> = (collective: OpenedCollective, s: typeof surprisal, input: Input) => T | Promise<T>;

const BODY = `
const { parentPort, workerData } = require("node:worker_threads");
const surprisal = require(${JSON.stringify(dist)});
const { openCollective } = require(${JSON.stringify(join(dist, "collective"))});
const collective = openCollective("workers", { handle: workerData.handle });
const answer = (value) => parentPort.postMessage({ value });
const refuse = (error) => {
  if (!(error instanceof surprisal.SurprisalError)) throw error;
  parentPort.postMessage({ error: { code: error.code, message: error.message } });
};
try {
  const value = (PROGRAM)(collective, surprisal, workerData.input);
  if (value instanceof Promise) value.then(answer, refuse);
  else answer(value);
} catch (error) {
  refuse(error);
}`;

/** One worker an input, rank by rank; resolves when all have ended. */
export async function runRanks<Input, T>(
  inputs: readonly Input[],
  program: RankProgram<Input, T>,
  options: CreateCollectiveOptions & { readonly started?: (workers: readonly Worker[]) => void } = {},
): Promise<Outcome<T>[]> {
  const { started, ...settings } = options;
  const handles = createCollective(inputs.length, { timeout: HANG_MS, ...settings });
  const workers: Worker[] = [];
  const outcomes = inputs.map((input, rank) => {
    const body = BODY.replace("PROGRAM", () => program.toString());
    const worker = new Worker(body, { eval: true, workerData: { handle: handles[rank], input } });
    watchWorker(worker, handles[rank]!);
    workers.push(worker);
    return new Promise<Outcome<T>>((done) => {
      let outcome: Omit<Outcome<T>, "exitCode"> = {};
      worker.on("message", (message: Outcome<T>) => (outcome = message));
      worker.on("error", (error: Error) => (outcome = { uncaught: error.message }));
      worker.on("exit", (exitCode) => done({ ...outcome, exitCode }));
    });
  });
  started?.(workers);
  return Promise.all(outcomes);
}

/** The values of all ranks; a rank without one fails the test and says why. */
export async function valuesOfRanks<Input, T>(
  inputs: readonly Input[],
  program: RankProgram<Input, T>,
  options?: CreateCollectiveOptions,
): Promise<T[]> {
  const outcomes = await runRanks(inputs, program, options);
  return outcomes.map((outcome) => {
    if (!("value" in outcome)) throw new Error(JSON.stringify(outcomes));
    return outcome.value as T; // it may be undefined itself
  });
}
