// The command line of the demo.
import { parseArgs } from "node:util";
import type { BackendChoice } from "../../lib";
import { METHOD_NAMES, type MethodName } from "./methods";

export const HELP = `npm run demo -- [options]

Trains a small policy (@jax-js/jax, WebAssembly) on two-step arithmetic modulo 4, with surprisal for everything
between its logits and the gradient of its logits. Compares ways to turn rewards into advantages.

  --steps N          training steps a run               default 300
  --seeds A,B,...    one run each                       default 1,2,3
  --methods A,B,...  ${METHOD_NAMES.join(", ")}       default all
  --backend NAME     auto, js, cpu, cuda, emulated      default auto
  --out DIR          rollouts.jsonl and report.html     default demo-output
  --rollouts DIR     rollouts of every step, one METHOD-SEED.jsonl a run
  --json             results as JSON instead of a table
  --help             this text

Exit code 0: done, 1: the backend cannot run here or training failed, 2: wrong options.`;

const BACKENDS: readonly BackendChoice[] = ["auto", "js", "cpu", "cuda", "emulated"];

export interface DemoOptions {
  readonly steps: number;
  readonly seeds: readonly number[];
  readonly methods: readonly MethodName[];
  readonly backend: BackendChoice | undefined;
  readonly out: string;
  /** Where the rollouts of every step go; undefined: nowhere. */
  readonly rollouts: string | undefined;
  readonly json: boolean;
  readonly help: boolean;
}

/** Wrong options; the message says which. */
export class UsageError extends Error {}

function list(name: string, text: string): string[] {
  const words = text.split(",").map((word) => word.trim());
  if (words.includes("") || new Set(words).size < words.length)
    throw new UsageError(`--${name} is "${text}", expected different values with commas between them`);
  return words;
}

function integer(name: string, text: string, least: number): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < least || value > 2 ** 31 - 1)
    throw new UsageError(`--${name}: "${text}" is not an integer from ${least} on`);
  return value;
}

function oneOf<Word extends string>(name: string, word: string, words: readonly Word[]): Word {
  const found = words.find((candidate) => candidate === word);
  if (found === undefined) throw new UsageError(`--${name}: "${word}" is none of ${words.join(", ")}`);
  return found;
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        steps: { type: "string", default: "300" },
        seeds: { type: "string", default: "1,2,3" },
        methods: { type: "string", default: METHOD_NAMES.join() },
        backend: { type: "string" },
        out: { type: "string", default: "demo-output" },
        rollouts: { type: "string" },
        json: { type: "boolean", default: false },
        help: { type: "boolean", default: false },
      },
    }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

export function readOptions(args: readonly string[]): DemoOptions {
  const values = parse(args);
  return {
    steps: integer("steps", values.steps, 1),
    seeds: list("seeds", values.seeds).map((seed) => integer("seeds", seed, 0)),
    methods: list("methods", values.methods).map((name) => oneOf("methods", name, METHOD_NAMES)),
    backend: values.backend === undefined ? undefined : oneOf("backend", values.backend, BACKENDS),
    out: values.out,
    rollouts: values.rollouts,
    json: values.json,
    help: values.help,
  };
}
