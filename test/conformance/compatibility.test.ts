// docs/compatibility.md is what its generator makes of the mappings as they are now.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as surprisal from "surprisal";
import * as experience from "surprisal/experience";
import * as reward from "surprisal/reward";
import { compatibilityPage, publicFunctions } from "./compatibility-page";
import { readGoldenFolder } from "./golden";
import { mappingKey, mappingTable, namesOf, type Mapping } from "./mapping";
import { mappings } from "./mappings";

const files = readGoldenFolder(join(__dirname, "..", "golden"));
// Read where it is looked at: where these tests run without the repository, there is no page.
const committed = (): string => readFileSync(join(__dirname, "..", "..", "docs", "compatibility.md"), "utf8");

test("the page is up to date (npm run compatibility writes it)", () => {
  expect(committed()).toBe(compatibilityPage(files, mappings));
});

test("every mapping names public functions, each once", () => {
  const functions = publicFunctions();
  const wrong = [...mappings.values()].filter((mapping) => {
    const names = namesOf(mapping);
    return names.length === 0 || new Set(names).size < names.length || !names.every((name) => functions.includes(name));
  });
  expect(wrong.map(mappingKey)).toEqual([]);
});

test("public functions are the functions of the surface, without classes and constants", () => {
  const functions = publicFunctions();
  expect(functions).toContain("grpoAdvantage");
  expect(functions).not.toContain("SurprisalError");
  expect(functions).not.toContain("NO_MOMENTS");
  const surface: Readonly<Record<string, unknown>> = { ...surprisal, ...reward, ...experience };
  expect(functions.every((name) => typeof surface[name] === "function")).toBe(true);
});

test("every golden function and every public function is on the page", () => {
  const page = committed();
  const names = [...files.map((file) => file.function), ...publicFunctions()];
  expect(names.filter((name) => !new RegExp(`[\`/]${name}\``).test(page))).toEqual([]);
});

const entry = (mapping: Partial<Mapping>): Mapping => ({
  family: "gspo",
  function: "standardize_rewards",
  ours: "grpoAdvantage",
  run: () => ({}),
  ...mapping,
});

test("a row has counts, options and differences; further functions refer to the first", () => {
  const some = files.filter((file) => file.function === "standardize_rewards");
  const cases = some[0]!.cases.length;
  const page = compatibilityPage(
    some,
    mappingTable([
      entry({ ours: ["grpoAdvantage", "logRatio"], options: "a|b", differs: "the sign", skip: () => "too long" }),
    ]),
  );
  expect(page).toContain(
    `| \`grpoAdvantage\` |${" – |".repeat(13)} GSPO \`standardize_rewards\`: ${cases} skipped (*too long*); a\\|b; *the sign* |`,
  );
  expect(page).toContain(`| \`logRatio\` |${" – |".repeat(13)} GSPO \`standardize_rewards\`, see \`grpoAdvantage\` |`);
});

test("a function without a mapping is listed; a family without a column is refused", () => {
  const [file] = files.filter((golden) => golden.function === "standardize_rewards");
  expect(compatibilityPage([file!], mappingTable([]))).toContain(
    `| gspo | \`standardize_rewards\` | ${file!.cases.length} | not implemented |`,
  );
  expect(() => compatibilityPage([{ ...file!, family: "new" }], mappingTable([]))).toThrow("family new");
});
