// Tables as CSV (RFC 4180, lines end with a newline).
import { shapeError, SurprisalError } from "../core/errors";
import { writeAtomically } from "./atomic-file";

export type Cell = string | number | bigint | boolean | null | undefined;

export interface Table {
  readonly columns: readonly string[];
  readonly rows: Iterable<readonly Cell[]>;
}

export interface TableOptions {
  /**
   * Puts an apostrophe before text that a spreadsheet would take for a formula (it begins with = + - @ or a tab): what a model
   * wrote may be meant for that. Default false: text is written as it is.
   */
  readonly guardFormulas?: boolean;
}

function cellText(cell: Cell, guard: boolean): string {
  if (cell == null) return "";
  if (typeof cell !== "string") return Object.is(cell, -0) ? "-0" : String(cell);
  const text = guard && /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function* linesOf(op: string, { columns, rows }: Table, guard: boolean): Generator<string> {
  const line = (cells: readonly Cell[]): string => `${cells.map((cell) => cellText(cell, guard)).join(",")}\n`;
  if (columns.length === 0) throw shapeError(op, "columns", columns, "at least one name");
  yield line(columns);
  let index = 0;
  for (const row of rows) {
    if (row.length !== columns.length)
      throw new SurprisalError(
        "ERR_SURPRISAL_SHAPE",
        `${op}: rows[${index}] has ${row.length} cells, expected ${columns.length}, one per column`,
        {
          op,
          name: `rows[${index}]`,
          got: row.length,
          want: `${columns.length}, one per column`,
        },
      );
    // One empty cell alone would be a blank line.
    yield columns.length === 1 && cellText(row[0], guard) === "" ? '""\n' : line(row);
    ++index;
  }
}

/**
 * A table as CSV: numbers with every digit, nothing for null, quotes where they are needed.
 *
 * @throws SurprisalError ERR_SURPRISAL_SHAPE for a row with another number of cells
 */
export function tableText(table: Table, { guardFormulas = false }: TableOptions = {}): string {
  return [...linesOf("tableText", table, guardFormulas)].join("");
}

/**
 * Writes a table as CSV, row by row; the file appears whole or not at all.
 *
 * @returns how many bytes were written
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, or _FILE where the system refuses
 */
export async function writeTable(
  target: string | URL,
  table: Table,
  { guardFormulas = false }: TableOptions = {},
): Promise<{ readonly bytes: number }> {
  const op = "writeTable";
  return writeAtomically(op, target, async (file) => {
    let block = "";
    for (const line of linesOf(op, table, guardFormulas)) {
      block += line;
      if (block.length < 1 << 18) continue;
      await file.write(block);
      block = "";
    }
    await file.write(block);
    return { bytes: file.bytes };
  });
}
