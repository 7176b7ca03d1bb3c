// The JSON Schema that is published says what is written, and nothing else.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import Ajv from "ajv";
import fc from "fast-check";
import { JSON_NAMES, writeRollouts } from "../../lib/io";
import { rollouts } from "./arbitrary";
import { temporaryFolder } from "./folder";

const folder = temporaryFolder();
const root = join(__dirname, "..", "..");
const schema = JSON.parse(readFileSync(join(root, "schema/rollout.schema.json"), "utf8")) as { properties: object };
const validate = new Ajv().compile(schema);

test("the schema has the fields of the record, each by its name in JSON", () => {
  expect(Object.keys(schema.properties).sort()).toEqual(Object.values(JSON_NAMES).slice().sort());
});

test("every line that is written is valid", async () => {
  await fc.assert(
    fc.asyncProperty(rollouts, async (some) => {
      await writeRollouts(folder.at("a.jsonl"), some);
      const lines = readFileSync(folder.at("a.jsonl"), "utf8").split("\n").slice(0, -1);
      for (const line of lines) {
        const valid = validate(JSON.parse(line));
        expect([line, valid ? null : validate.errors]).toEqual([line, null]);
      }
    }),
    { numRuns: 60 },
  );
});

test.each([
  { token_ids: [1.5] },
  { token_ids: [2 ** 31] },
  { sampler_logprobs: [null] },
  { sampler_logprobs: ["nan"] },
  { mask: [2] },
  { topk: {} },
  { other: 1 },
  { step: -1 },
  { text: 1 },
])("%j is not valid", (record) => {
  expect(validate(record)).toBe(false);
});

test("the sample of our own spelling is valid", () => {
  const lines = readFileSync(join(__dirname, "samples/surprisal.jsonl"), "utf8").trim().split("\n");
  expect(lines.map((line) => validate(JSON.parse(line)))).toEqual(lines.map(() => true));
});
