// What reads files, each with files that it reads: every layout, every dialect.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { entropyCoefficient, klController, NO_MOMENTS, parseControllers, serializeControllers } from "../../../lib";
import {
  type Dialect,
  type ReadOptions,
  type Rollout,
  readAllRollouts,
  readTensors,
  writeRollouts,
  writeTensors,
} from "../../../lib/io";
import type { LAYOUTS } from "./layouts";

export interface Target {
  readonly layout: keyof typeof LAYOUTS;
  readonly seeds: readonly Buffer[];
  /** Everything that was read. */
  readonly read: (file: Buffer) => Promise<unknown>;
  /** How many executions go here, beside the others: where each starts a thread, few. */
  readonly weight: number;
}

const samples = join(__dirname, "../../io/samples");
const files = (ending: RegExp): Buffer[] =>
  readdirSync(samples)
    .filter((name) => ending.test(name))
    .sort()
    .map((name) => readFileSync(join(samples, name)));

const DIALECTS: readonly Dialect[] = [
  "surprisal",
  "verl",
  "trl",
  "trl-server",
  "openai-chat",
  "openai-completions",
  "vllm",
  "sglang",
];

/** No record of the samples is as long: what asks for more is refused. */
const LIMITS = { maxRecordBytes: 1 << 20 } as const;
const rollouts = async (file: Buffer, options: ReadOptions = {}): Promise<readonly Rollout[]> =>
  (await readAllRollouts(file, { ...LIMITS, ...options })).rollouts;
const both = async (file: Buffer): Promise<unknown> => [
  await rollouts(file, { malformed: "skip" }),
  await rollouts(file),
];

const KINDS = { kl: "kl", coefficient: "entropyCoefficient", moments: "runningMoments" } as const;

const controllers = (): Buffer =>
  Buffer.from(
    serializeControllers(KINDS, {
      kl: klController(0.1),
      coefficient: entropyCoefficient(0.01),
      moments: NO_MOMENTS,
    }),
  );

export async function makeTargets(folder: string): Promise<Record<string, Target>> {
  const lines = files(/\.jsonl?$/);
  const given = await rollouts(readFileSync(join(samples, "surprisal.jsonl")));
  const written = async (name: string): Promise<Buffer> => {
    await writeRollouts(join(folder, name), given);
    return readFileSync(join(folder, name));
  };
  await writeTensors(join(folder, "t.npz"), { x: { dtype: "float32", shape: [2, 3], data: new Float32Array(6) } });
  const npz = [readFileSync(join(folder, "t.npz")), await written("a.npz")];
  const tensors = [await written("a.safetensors"), ...files(/\.safetensors$/)];
  return {
    ...Object.fromEntries(
      DIALECTS.map((from): [string, Target] => [
        `JSON lines of ${from}`,
        { layout: "plain", seeds: lines, weight: 1, read: (file) => rollouts(file, { from }) },
      ]),
    ),
    "JSON lines": { layout: "plain", seeds: lines, weight: 3, read: both },
    "mapped JSON lines": {
      layout: "plain",
      seeds: lines,
      weight: 1,
      read: (file) =>
        rollouts(file, {
          map: { text: "output", reward: "score", "rewards.a": "step", "meta.b": "choices.message" },
          groupBy: "prompt",
          rewardWeights: { a: 2 },
        }),
    },
    gzip: { layout: "gzip", seeds: lines.map((text) => gzipSync(text)), weight: 1, read: both },
    safetensors: {
      layout: "safetensors",
      seeds: tensors,
      weight: 2,
      read: async (file) => [await readTensors(file), await rollouts(file)],
    },
    npz: {
      layout: "zip",
      seeds: [...npz, ...files(/\.npz$/)],
      weight: 2,
      read: async (file) => [await readTensors(file, { maxBytes: 1 << 24 }), await rollouts(file)],
    },
    Parquet: {
      layout: "plain",
      seeds: files(/\.parquet$/),
      weight: 0.02,
      read: (file) => rollouts(file),
    },
    controllers: {
      layout: "plain",
      seeds: [controllers()],
      weight: 1,
      read: (file) => Promise.resolve().then(() => parseControllers(file.toString(), KINDS)),
    },
  };
}
