import { readdirSync } from "node:fs";
import { join } from "node:path";
import * as main from "../../lib";
import { PRESETS } from "../../lib/presets";
import * as reward from "../../lib/reward";

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
