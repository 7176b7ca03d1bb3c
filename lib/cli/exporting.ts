// Tables as CSV, scalars for TensorBoard and for Weights & Biases.
import { mkdir, writeFile } from "node:fs/promises";
import * as path from "node:path";
import { scalarRows, type Summary, type Table, tableToCsv, tensorboardEvents } from "../report";
import type { Call, OptionSpecs } from "./shell/command";

export const EXPORT_OPTIONS: OptionSpecs = {
  csv: { value: "FOLDER", text: "also write every table as CSV" },
  tensorboard: { value: "FOLDER", text: "also write the scalars as event files of TensorBoard" },
};

/** A folder's file, as an output of the command. */
async function place(call: Call, folder: string, file: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  return call.outputs.add(path.join(folder, file));
}

/** FOLDER/groups.csv and so on. */
export async function exportTables(call: Call, tables: readonly Table[]): Promise<void> {
  const folder = call.args.text("csv");
  if (folder === undefined) return;
  for (const table of tables) await writeFile(await place(call, folder, `${table.name}.csv`), tableToCsv(table));
}

/** `folder`: within the one that was asked for, as TensorBoard tells runs apart by folders. */
export async function exportEvents(call: Call, summary: Summary, folder = ""): Promise<void> {
  const asked = call.args.text("tensorboard");
  if (asked === undefined) return;
  const file = await place(call, path.join(asked, folder), "events.out.tfevents.surprisal");
  await writeFile(file, tensorboardEvents(summary));
}

/** FOLDER/`run`.jsonl: a run of Weights & Biases is a file. */
export async function exportScalars(call: Call, summary: Summary, run: string): Promise<void> {
  const folder = call.args.text("scalars");
  if (folder !== undefined) await writeFile(await place(call, folder, `${run}.jsonl`), scalarLines(summary));
}

/** One JSON object a line. */
export const scalarLines = (summary: Summary): string =>
  scalarRows(summary)
    .map((row) => `${JSON.stringify(row)}\n`)
    .join("");
