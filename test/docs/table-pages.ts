// The list of estimators on its page, written from the table of the library.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import ESTIMATORS from "../../lib/advantage/estimators";

const docs = join(__dirname, "..", "..", "docs");

const row = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [row(head), row(head.map(() => "---")), ...rows.map(row)].join("\n");
}

const estimators = table(
  ["name", "computes", "values", "page"],
  Object.entries(ESTIMATORS).map(([name, { about, answers, page }]) => [
    `\`"${name}"\``,
    about,
    answers === "row" ? "row" : "token",
    `[${page}](${page}.md)`,
  ]),
);

/** Path in docs → the text as it is, and as the tables have it. */
export function tablePages(): readonly { readonly path: string; readonly is: string; readonly wanted: string }[] {
  return [
    { path: join(docs, "advantage", "compute.md"), name: "estimators", text: estimators },
  ].map(({ path, name, text }) => {
    const is = readFileSync(path, "utf8");
    const place = new RegExp(`(<!-- ${name}: .*? -->\n)[^]*?(<!-- end -->)`);
    if (!place.test(is)) throw new Error(`${path} has no place for the table of ${name}`);
    return { path, is, wanted: is.replace(place, `$1\n${text}\n\n$2`) };
  });
}

export function writeTablePages(): void {
  for (const { path, wanted } of tablePages()) writeFileSync(path, wanted);
}
