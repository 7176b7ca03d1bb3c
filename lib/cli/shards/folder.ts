// The folder where parts wait for each other.
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import * as path from "node:path";
import { SurprisalError } from "../../core/errors";
import type { Call } from "../shell/command";
import { UsageError } from "../shell/exit-codes";

export class ShardFolder {
  constructor(readonly path: string) {}

  private of(part: number | "merged", what: string): string {
    return path.join(this.path, `${part === "merged" ? part : `part-${part}`}${what}`);
  }

  manifest(part: number): string {
    return this.of(part, ".json");
  }

  /** What the part leaves for the end. */
  data(part: number): string {
    return this.of(part, ".data");
  }

  rollouts(part: number): string {
    return this.of(part, ".jsonl");
  }

  /** What a part gave in a pass; merged, what all gave. */
  pass(part: number | "merged", pass: number): string {
    return this.of(part, `.pass-${pass}.safetensors`);
  }

  /** The parts that have a manifest. */
  get parts(): number[] {
    const names = readdirSync(this.path).flatMap((name) => /^part-(\d+)\.json$/.exec(name)?.[1] ?? []);
    return names.map(Number).sort((a, b) => a - b);
  }

  /** Removes the answers of all passes. */
  forgetPasses(): void {
    for (const name of readdirSync(this.path)) if (name.startsWith("merged.pass-")) rmSync(path.join(this.path, name));
  }
}

/** The folder of a command line, made where it is not there. */
export function folderOf({ args }: Pick<Call, "args">): ShardFolder {
  const [given, out] = [args.text("shard-folder"), args.text("out")];
  if (given === undefined && (out === undefined || out === "-"))
    throw new UsageError("--shard-folder is missing: where the parts wait for surprisal merge", {
      name: "--shard-folder",
    });
  const folder = given ?? `${out!}.shards`;
  try {
    mkdirSync(folder, { recursive: true });
  } catch (cause) {
    throw new SurprisalError(
      "ERR_SURPRISAL_FILE",
      `${folder} cannot be made: ${(cause as Error).message}`,
      { name: folder, want: "a folder" },
      { cause },
    );
  }
  return new ShardFolder(folder);
}
