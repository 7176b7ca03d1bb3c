// A table as text that spreadsheets and data frames read.

/** Numbers and texts in rows. */
export interface Table {
  /** What a file of it is called: "groups". */
  readonly name: string;
  readonly columns: readonly string[];
  /** null: not known. */
  readonly rows: readonly (readonly (string | number | null)[])[];
}

/** What a spreadsheet would take for a formula. */
const FORMULA = /^[=+\-@\t\r]/;
const QUOTED = /[",\r\n]/;

function cell(value: string | number | null): string {
  if (value === null) return "";
  if (typeof value === "number") return Number.isNaN(value) ? "NaN" : String(value);
  const harmless = FORMULA.test(value) ? `'${value}` : value;
  return QUOTED.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

/**
 * Returns a table as CSV (RFC 4180): a heading, lines that end with \r\n, numbers with all their digits, nothing for null. A text that
 * a spreadsheet would run as a formula gets an apostrophe before it.
 *
 * @param table as `reportTables` and `comparisonTables` return them
 * @returns text, to be written as UTF-8
 */
export function tableToCsv({ columns, rows }: Table): string {
  return [columns, ...rows].map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}
