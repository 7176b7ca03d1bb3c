// What reading takes, and what it reports.
import type { Rollout } from "./record";

/** How a source spells its rollouts. */
export type Dialect =
  /** Ours: schema/rollout.schema.json. */
  | "surprisal"
  /** verl's rollout dump: input, output, gts, score, step and extras. */
  | "verl"
  /** TRL's logged completions: step, prompt, completion, a column per reward, advantage. */
  | "trl"
  /** What TRL's vLLM server answers: prompt_ids, completion_ids, logprobs, logprob_token_ids. */
  | "trl-server"
  /** OpenAI chat completions with logprobs, also as a batch's output file. */
  | "openai-chat"
  /** OpenAI (legacy) completions with logprobs. */
  | "openai-completions"
  /** Either of the two with vLLM's ids: prompt_token_ids, token_ids, "token_id:123". */
  | "vllm"
  /** SGLang's native answer: text, output_ids, meta_info. */
  | "sglang";

/** How the bytes are laid out; gz goes with jsonl. */
export type FileFormat = "jsonl" | "parquet" | "safetensors" | "npz";

/** Where rollouts come from: a path, a file: URL, bytes in memory, or chunks. A path ending with .gz or gzip bytes are unpacked. */
export type RolloutSource = string | URL | Uint8Array | AsyncIterable<Uint8Array | string>;

export interface ReadProgress {
  /** Bytes of the source taken so far (before unpacking). */
  readonly bytes: number;
  /** Size of the source; undefined where it cannot be known. */
  readonly totalBytes: number | undefined;
  /** Rollouts given so far. */
  readonly rollouts: number;
}

export interface ReadOptions {
  /** The dialect of all records. Default: the reader finds it by the fields of each record. */
  readonly from?: Dialect;
  /**
   * Where fields of the rollouts stand in the records of JSON and Parquet: `{ reward: "score", "rewards.format": "format_reward" }`.
   * On the left a field of `Rollout`, `rewards.NAME` or `meta.NAME`; on the right the source's name, with dots for what lies deeper.
   * It replaces what the dialect reads there. A list under a record of several completions has one number for each. With a map of
   * `text` or `tokenIds`, records of no known dialect are read too.
   */
  readonly map?: Readonly<Record<string, string>>;
  /** What makes a group: `"prompt"`, rollouts of the same prompt, or the name of a field. Default: as the source says, else the prompt. */
  readonly groupBy?: string;
  /**
   * `reward` becomes the sum of the named rewards times these weights; a name that is not here has weight 1, and a reward that is NaN
   * or absent is left out. Default: the source's own reward, else the sum with weights 1; of records of dialect "surprisal" only their
   * own.
   */
  readonly rewardWeights?: Readonly<Record<string, number>>;
  /** The layout. Default: the reader finds it by the first bytes; a stream is JSONL. */
  readonly format?: FileFormat;
  /** What messages call the source. Default: its path, or "<input>". */
  readonly name?: string;
  /** An abort ends the reading; the iterator then throws the signal's reason. */
  readonly signal?: AbortSignal;
  /** Called at most every 100 ms, and once at the end. An error that it throws ends the reading. */
  readonly onProgress?: (progress: ReadProgress) => void;
  /**
   * A record that cannot be read:
   * - `"throw"`: an error naming file, line and field.
   * - `"skip"`: left out, and listed in the report.
   *
   * A last line that is cut off is never an error: it is left out and reported. Default `"throw"`.
   */
  readonly malformed?: "throw" | "skip";
  /** Longest line, and largest single record, in bytes after unpacking. Default 64 MiB. */
  readonly maxRecordBytes?: number;
}

/** Something in the source that a reader should know about. */
export interface ReadWarning {
  readonly kind:
    /** The last line, or the compressed stream, ends in the middle. */
    | "cut-off"
    /** A record was left out (`malformed: "skip"`). */
    | "skipped"
    /** Log-probs and ids have different lengths, or the source says other counts than it has. */
    | "lengths"
    /** Lines of several dialects in one source. */
    | "mixed-dialects"
    /** The source has no ids: per-token statistics by id need a tokenizer, and would be re-tokenised. */
    | "no-token-ids"
    /** Anything else that was left out or changed. */
    | "note";
  /** `file:line: field: what`, for people. */
  readonly message: string;
  /** Line, or row of a table, from 1. */
  readonly line?: number;
  readonly field?: string;
}

/** What was read, and what was not. Complete when the iterator has ended; kept up to date before. */
export interface ReadReport {
  readonly name: string;
  readonly format: FileFormat;
  /** Of the first record; undefined for an empty source. */
  readonly dialect: Dialect | undefined;
  /** What the first reward was read from: "score", "accuracy + 0.5 format"; undefined where no rollout has one. */
  readonly rewardFrom: string | undefined;
  readonly gzip: boolean;
  /** Bytes of the source taken. */
  readonly bytes: number;
  /** Lines, or rows of a table. */
  readonly lines: number;
  readonly rollouts: number;
  /** How many records were left out as malformed. */
  readonly skipped: number;
  /** How many log-probs were −9999 or float32's lowest number, as vLLM and llama.cpp write −∞: they are −∞ in the rollouts. */
  readonly minusInfinities: number;
  /** The last line or the compressed stream was cut off; `line` is the first one that is not whole. */
  readonly cutOff: { readonly line: number; readonly bytes: number } | undefined;
  /** The first 100; `warningCount` says how many there were. */
  readonly warnings: readonly ReadWarning[];
  readonly warningCount: number;
}

/** Rollouts one after the other. Reads only as fast as they are taken; can be iterated once. */
export interface RolloutReader extends AsyncIterable<Rollout> {
  readonly report: ReadReport;
}
