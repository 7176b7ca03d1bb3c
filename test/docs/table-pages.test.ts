import { existsSync } from "node:fs";
import { join } from "node:path";
import * as main from "../../lib";
import ESTIMATORS from "../../lib/advantage/estimators";
import LOSSES from "../../lib/loss/policy/losses";
import { tablePages } from "./table-pages";

const docs = join(__dirname, "..", "..", "docs");

test.each(tablePages())("$path lists what the table has; else: npm run compatibility", ({ is, wanted }) => {
  expect(is).toBe(wanted);
});

const entries = [
  ...Object.entries(ESTIMATORS).map(([name, entry]) => [`${name}Advantage`, entry, "advantage"] as const),
  ...Object.entries(LOSSES).map(([name, entry]) => [`${name}Loss`, entry, "loss"] as const),
];

test.each(entries)("%s is a public function with a page, or a recipe", (name, { compute, page }, folder) => {
  const exported = (main as Readonly<Record<string, unknown>>)[name];
  if (page === "../recipes") expect(exported).toBeUndefined();
  else expect(exported).toHaveProperty("name", compute.name);
  expect(existsSync(join(docs, folder, `${page}.md`))).toBe(true);
});
