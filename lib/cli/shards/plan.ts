// Who computes what. Parts follow each other, so that numbers per row, put one part behind the other, stand in the order in which
// one process has them. Where there are files enough a part is whole files, and reads no others. Else every process reads which groups
// there are, and a part is whole batches, or, of a batch that is everything, rows between which no group goes on.
import { stat } from "node:fs/promises";
import { type BatchRule, openRollouts } from "../rollouts/read-batches";
import type { Call } from "../shell/command";
import { UsageError } from "../shell/exit-codes";

export interface Plan {
  /** What this part reads. */
  readonly files: readonly string[];
  readonly keeps: ((file: number, row: number) => boolean) | undefined;
  /** The parts that have anything, in order. */
  readonly members: readonly number[];
}

/** The part of each unit: the one in whose share of the whole it begins. */
function partsOfUnits(sizes: readonly number[], count: number): number[] {
  const total = sizes.reduce((sum, size) => sum + size, 0);
  let begin = 0;
  return sizes.map((size) => {
    const part = total === 0 ? 0 : Math.min(count - 1, Math.floor((begin * count) / total));
    begin += size;
    return part;
  });
}

const inOrder = (parts: readonly number[]): number[] => [...new Set(parts)].sort((a, b) => a - b);

/** Bytes of each file. */
export async function sizesOf(files: readonly string[]): Promise<number[]> {
  const sizes: number[] = [];
  for (const file of files) {
    if (file === "-")
      throw new UsageError("standard input cannot be read by several parts; name the files", { name: "-", got: file });
    // What is not there is said by the reader.
    sizes.push((await stat(file).catch(() => undefined))?.size ?? 0);
  }
  return sizes;
}

/** Stretches of rows that no group leaves: of each row the number of its stretch. */
function stretchesOf(groups: readonly string[]): Int32Array {
  const last = new Map<string, number>();
  groups.forEach((group, row) => last.set(group, row));
  const stretches = new Int32Array(groups.length);
  let [stretch, end] = [-1, -1];
  groups.forEach((group, row) => {
    if (row > end) ++stretch;
    end = Math.max(end, last.get(group)!);
    stretches[row] = stretch;
  });
  return stretches;
}

/** Equal texts as the same number, by first appearance. */
function numbersOf(texts: readonly string[]): Int32Array {
  const numbers = new Map<string, number>();
  return Int32Array.from(texts, (text) => {
    const number = numbers.get(text) ?? numbers.size;
    numbers.set(text, number);
    return number;
  });
}

/** Of each row of each file the unit that it belongs to. */
async function unitsOfRows(call: Call, files: readonly string[], rule: BatchRule): Promise<Int32Array[]> {
  const keys: string[] = [];
  const ends: number[] = [];
  for (const [file, path] of files.entries()) {
    for await (const { group, step } of openRollouts(call, path)) {
      // Rollouts without a label are compared with nobody.
      if (rule === "all") keys.push(JSON.stringify([group, step, group === undefined ? keys.length : null]));
      else keys.push(JSON.stringify(rule === "file" ? [file] : [file, step]));
    }
    ends.push(keys.length);
  }
  call.progress.end();
  const units = rule === "all" ? stretchesOf(keys) : numbersOf(keys);
  return ends.map((end, file) => units.subarray(ends[file - 1] ?? 0, end));
}

/** The plan of a part that is whole files; undefined where there are fewer files than parts. */
export async function planOfFiles(files: readonly string[], index: number, count: number): Promise<Plan | undefined> {
  if (files.length < count) return undefined;
  const parts = partsOfUnits(await sizesOf(files), count);
  return { files: files.filter((_, file) => parts[file] === index), keeps: undefined, members: inOrder(parts) };
}

/** The plan of a part that is some of the rows of all files. */
export async function planOfRows(call: Call, rule: BatchRule, index: number, count: number): Promise<Plan> {
  const { files } = call.args;
  const units = await unitsOfRows(call, files, rule);
  const rows: number[] = [];
  for (const own of units) for (const unit of own) rows[unit] = (rows[unit] ?? 0) + 1;
  const parts = partsOfUnits(rows, count);
  return { files, keeps: (file, row) => parts[units[file]![row]!] === index, members: inOrder(parts) };
}
