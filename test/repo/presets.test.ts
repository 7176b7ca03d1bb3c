import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as main from "../../lib";
import { PRESETS } from "../../lib/presets";
import { AGGREGATIONS } from "../../lib/presets/aggregations";
import { IMPORTANCE_RATIOS } from "../../lib/presets/importance-ratios";
import * as reward from "../../lib/reward";

// What a framework computes is a fact, and golden cases see some of its numbers alone (an epsilon of 1e-8 beside a variance of 1 is
// in no digit). So each stands here once more: who changes one says it twice.
test("every value of every preset is the one on record", () => {
  const recorded: unknown = JSON.parse(readFileSync(join(__dirname, "preset-values.json"), "utf8"));
  expect({ presets: PRESETS, aggregations: AGGREGATIONS, importanceRatios: IMPORTANCE_RATIOS }).toEqual(recorded);
});

test.each(Object.entries(PRESETS))("%s says something, and of public functions only", (_, preset) => {
  expect(Object.keys(preset)).not.toEqual([]);
  expect(Object.keys(preset).filter((name) => !(name in main) && !(name in reward))).toEqual([]);
});

test("each file of a source is in the list", () => {
  const data = ["aggregations.ts", "importance-ratios.ts", "index.ts"];
  const files = readdirSync(join(__dirname, "..", "..", "lib", "presets")).filter((file) => !data.includes(file));
  expect(files.sort()).toEqual(
    Object.keys(PRESETS)
      .map((name) => `${name}.ts`)
      .sort(),
  );
});
