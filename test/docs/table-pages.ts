// Lists on pages that are written from what is there: the kernel families, the estimators.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join, parse } from "node:path";
import ESTIMATORS from "../../lib/advantage/estimators";
import { PAIRS } from "../reward/math-pairs";

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
    `[${basename(page)}](${page}.md)`,
  ]),
);

/** Functions of a family that one calls by their plain name. */
function functionsOf(family: string): string[] {
  const exported = require(join(docs, "..", "lib", "ops", family)) as Readonly<Record<string, unknown>>;
  return Object.keys(exported).filter((name) => typeof exported[name] === "function" && !/^[A-Z]|Async$/.test(name));
}

const families = table(
  ["family", "computes", "functions"],
  readdirSync(join(docs, "ops")).map((page) => {
    const { name } = parse(page);
    const [, about = ""] = /^# \w+: (.*)$/m.exec(readFileSync(join(docs, "ops", page), "utf8")) ?? [];
    const functions = functionsOf(name).map((one) => `\`${one}\``);
    return [`[${name}](ops/${page})`, about, functions.join(" ")];
  }),
);

/** Text in a cell, as code: a bar is written as it is read in GitHub's tables. */
const code = (text: string): string => (text === "" ? "nothing" : `\`${text.replaceAll("|", String.raw`\|`)}\``);
const verdict = (equal: boolean): string => (equal ? "=" : "≠");

const pairs = [...new Set(PAIRS.map(({ group }) => group))]
  .map((group) => {
    const members = PAIRS.filter((pair) => pair.group === group);
    const rows = members.map(({ answer, wanted, equal, differ, told, why }) => [
      code(answer),
      code(wanted),
      verdict(equal),
      told ? verdict(equal !== differ.includes("math-verify")) : "?",
      verdict(equal !== differ.includes("texts")),
      why,
    ]);
    return `### ${group}\n\n${table(["answer", "wanted", "here", "math-verify", "texts", "why"], rows)}`;
  })
  .join("\n\n");

/** Path in docs → the text as it is, and as the tables have it. */
export function tablePages(): readonly { readonly path: string; readonly is: string; readonly wanted: string }[] {
  return [
    { path: join(docs, "README.md"), name: "families", text: families },
    { path: join(docs, "advantage", "compute.md"), name: "estimators", text: estimators },
    { path: join(docs, "notes", "math-pairs.md"), name: "pairs", text: pairs },
  ].map(({ path, name, text }) => {
    const is = readFileSync(path, "utf8");
    const place = new RegExp(`(<!-- ${name}: .*? -->\n)[^]*?(<!-- end -->)`);
    if (!place.test(is)) throw new Error(`${path} has no place for the table of ${name}`);
    return { path, is, wanted: is.replace(place, (_, head: string, end: string) => `${head}\n${text}\n\n${end}`) };
  });
}

export function writeTablePages(): void {
  for (const { path, wanted } of tablePages()) writeFileSync(path, wanted);
}
