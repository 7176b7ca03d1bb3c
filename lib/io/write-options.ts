// What writing takes, and what it reports.
import type { FileFormat } from "./read-options";

export interface WriteOptions {
  /** The layout. Default: by the ending of the path (.jsonl, .jsonl.gz, .parquet, .safetensors, .npz). */
  readonly format?: FileFormat;
  /** Compress JSONL. Default: where the path ends with .gz. */
  readonly gzip?: boolean;
  /** An abort ends the writing; no file is left behind. */
  readonly signal?: AbortSignal;
  /** Called at most every 100 ms, and once at the end. */
  readonly onProgress?: (progress: WriteProgress) => void;
}

export interface WriteProgress {
  readonly rollouts: number;
  /** Bytes written so far. */
  readonly bytes: number;
}

export interface WriteReport extends WriteProgress {
  readonly format: FileFormat;
}

/** Where rollouts go: a path or file: URL. The file appears whole, under its name, when everything is written. */
export type RolloutTarget = string | URL;
