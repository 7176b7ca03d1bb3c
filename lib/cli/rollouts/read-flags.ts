// Flags of every command that reads rollouts: how files spell them, and which fields are which.
import { type Dialect, type FileFormat, JSON_NAMES, type ReadOptions } from "../../io";
import { oneWord } from "../shell/arguments";
import type { Call, OptionSpecs } from "../shell/command";
import { UsageError } from "../shell/exit-codes";

const DIALECTS = {
  surprisal: 1,
  verl: 1,
  trl: 1,
  "trl-server": 1,
  "openai-chat": 1,
  "openai-completions": 1,
  vllm: 1,
  sglang: 1,
} as const satisfies Record<Dialect, 1>;
const FORMATS = { jsonl: 1, parquet: 1, safetensors: 1, npz: 1 } as const satisfies Record<FileFormat, 1>;
export const FORMAT_NAMES = Object.keys(FORMATS) as readonly FileFormat[];

/** Flags of every command that reads rollouts. */
export const READ_OPTIONS: OptionSpecs = {
  from: {
    value: "DIALECT",
    text: `how the files spell rollouts: ${Object.keys(DIALECTS).join(", ")}. Default: detected`,
  },
  format: { value: "FORMAT", text: `layout of the files: ${FORMAT_NAMES.join(", ")}. Default: by their first bytes` },
  map: {
    value: "FIELD=NAME",
    multiple: true,
    text: "read a field of the rollouts from another name: reward=score, rewards.format=format_reward, text=answer.content",
  },
  "group-by": {
    value: "NAME",
    text: "what makes a group: prompt, or the name of a field. Default: as the file says, else the prompt",
  },
  "reward-weight": {
    value: "NAME=NUMBER",
    multiple: true,
    text: "the reward is the sum of the named rewards times their weights; 1 for those not given",
  },
  "skip-malformed": {
    text: "leave out records that cannot be read, and list them. Default: the first one ends the command",
  },
};

const NAME_OF: ReadonlyMap<string, string> = new Map(Object.entries(JSON_NAMES).map(([name, json]) => [json, name]));

/** "reward=score" as ["reward", "score"]. */
function pairOf(flag: string, text: string, want: string): readonly [string, string] {
  const at = text.indexOf("=");
  if (at < 1 || at === text.length - 1)
    throw new UsageError(`${flag} is "${text}", expected ${want}`, { name: flag, got: text });
  return [text.slice(0, at), text.slice(at + 1)];
}

function weightOf(text: string): readonly [string, number] {
  const [name, number] = pairOf("--reward-weight", text, "NAME=NUMBER such as format=0.5");
  const weight = Number(number);
  if (number.trim() === "" || !Number.isFinite(weight))
    throw new UsageError(`--reward-weight ${name} is "${number}", expected a number`, {
      name: "--reward-weight",
      got: number,
    });
  return [name, weight];
}

/** What the flags say about reading. */
export function readOptions({ args, signal }: Call, name: string): ReadOptions {
  const pairs = args.texts("map").map((text) => pairOf("--map", text, "FIELD=NAME such as reward=score"));
  const weights = args.texts("reward-weight").map(weightOf);
  return {
    name,
    signal,
    from: oneWord(args, "from", Object.keys(DIALECTS) as Dialect[]),
    format: oneWord(args, "format", FORMAT_NAMES),
    // The command line has the names of JSON, as inspect prints them.
    map: Object.fromEntries(pairs.map(([field, from]) => [NAME_OF.get(field) ?? field, from])),
    groupBy: args.text("group-by"),
    rewardWeights: weights.length > 0 ? Object.fromEntries(weights) : undefined,
    malformed: args.has("skip-malformed") ? "skip" : undefined,
  };
}
