// A command line run in this process: exit code, and what it said on both streams.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "../../lib/cli/run";
import type { Sink } from "../../lib/cli/shell/host";

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface World {
  readonly isTTY?: boolean;
  readonly signal?: AbortSignal;
  readonly stdin?: AsyncIterable<string>;
  /** Beside NO_COLOR. */
  readonly env?: Readonly<Record<string, string>>;
  /** Called with each piece of text for standard output. */
  readonly onStdout?: (text: string) => void;
  /** Called with each piece of text for standard error. */
  readonly onStderr?: (text: string) => void;
}

export async function surprisal(
  args: readonly string[],
  { isTTY = false, signal, stdin, env, onStdout, onStderr }: World = {},
): Promise<Outcome> {
  const out: string[] = [];
  const err: string[] = [];
  const sink = (texts: string[], tell?: (text: string) => void): Sink => ({
    isTTY,
    columns: 100,
    write(text) {
      texts.push(text);
      tell?.(text);
      return true;
    },
  });
  const code = await run(args, {
    stdout: sink(out, onStdout),
    stderr: sink(err, onStderr),
    env: { NO_COLOR: "1", ...env },
    signal: signal ?? new AbortController().signal,
    ...(stdin && { stdin }),
  });
  return { code, stdout: out.join(""), stderr: err.join("") };
}

/** A folder for the files of a test file; removed behind it. */
export function temporaryFolder(): {
  readonly path: (name: string) => string;
  readonly file: (name: string, content: string) => string;
} {
  let folder = "";
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "surprisal-cli-"));
  });
  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  const path = (name: string): string => join(folder, name);
  return {
    path,
    file(name, content) {
      writeFileSync(path(name), content);
      return path(name);
    },
  };
}

/** Lines of JSON. */
export const jsonl = (records: readonly object[]): string =>
  records.map((record) => `${JSON.stringify(record)}\n`).join("");

/** What a command answered to --json; the caller says what it is. */
export const documentOf = (outcome: Outcome): unknown => JSON.parse(outcome.stdout);
