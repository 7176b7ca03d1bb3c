// The cases of each family: what the files of the folder `cases` export. A reduced set has the same ops and kinds of input, with fewer
// types and shorter rows.
import { readdirSync } from "node:fs";
import { join, parse } from "node:path";
import type { Case } from "./measure";

type Cases = (reduced: boolean) => Case[];

function casesOf(file: string): Cases {
  const { default: cases } = require(join(__dirname, "cases", file)) as { readonly default?: Cases };
  if (typeof cases !== "function")
    throw new Error(`bench/accuracy/cases/${file} has no default export, a function of cases`);
  return cases;
}

const files = readdirSync(join(__dirname, "cases")).filter((file) => /\.[jt]s$/.test(file));
const byName = files.map((file) => ({ file, name: parse(file).name })).sort((a, b) => (a.name < b.name ? -1 : 1));

export const FAMILIES: Readonly<Record<string, Cases>> = Object.fromEntries(
  byName.map(({ file, name }) => [name, casesOf(file)]),
);
