// Names with * and ? where no shell has put files in their place: in quotes, and in what starts a container.
import { existsSync, readdirSync } from "node:fs";
import * as path from "node:path";
import { SurprisalError } from "../../core/errors";

const inOrder = new Intl.Collator("en", { numeric: true });

const hasSign = (text: string): boolean => /[*?]/.test(text);

/** "step_*.jsonl" as a pattern of a whole name; a hidden file has to be asked for. */
function patternOf(segment: string): RegExp {
  const body = segment
    .replace(/[\\^$.+()|[\]{}]/g, "\\$&")
    .replace(/\*/g, ".*")
    .replace(/\?/g, ".");
  return new RegExp(`^${segment.startsWith(".") ? "" : "(?!\\.)"}${body}$`, "su");
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder === "" ? "." : folder);
  } catch {
    return []; // no folder
  }
}

function filesOf(pattern: string): string[] {
  const { root } = path.parse(pattern);
  return pattern
    .slice(root.length)
    .split(/[\\/]/)
    .reduce<string[]>(
      (places, segment) =>
        places.flatMap((place) => {
          if (!hasSign(segment)) return existsSync(path.join(place, segment)) ? [path.join(place, segment)] : [];
          const wanted = patternOf(segment);
          const names = namesIn(place).filter((name) => wanted.test(name));
          return names.sort(inOrder.compare).map((name) => path.join(place, name));
        }),
      [root],
    );
}

/**
 * Each pattern as the files that it names, 9.jsonl before 10.jsonl; a file that is called like a pattern is itself.
 *
 * @throws SurprisalError ERR_SURPRISAL_FILE for a pattern that names nothing
 */
export function withExpandedFiles(files: readonly string[]): string[] {
  return files.flatMap((file) => {
    if (!hasSign(file) || existsSync(file)) return [file];
    const found = filesOf(file);
    if (found.length === 0)
      throw new SurprisalError("ERR_SURPRISAL_FILE", `${file}: no file is called so`, { name: file, want: "a file" });
    return found;
  });
}
