import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readGoldenFile, readGoldenFolder, type GoldenRecord } from "./golden";
import { Inputs } from "./inputs";

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), "golden-"))));
afterEach(() => rmSync(folder, { recursive: true }));

function write(content: unknown): string {
  const path = join(folder, "file.json");
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}

const fileOf = (...cases: object[]) => ({ family: "f", function: "g", cases });
const caseOf = (inputs: object, more: object = {}) => ({ name: "c", inputs, outputs: {}, rtol: 0, atol: 0, ...more });
const readInputs = (inputs: object): GoldenRecord =>
  readGoldenFile(write(fileOf(caseOf(inputs)))).cases[0]?.inputs ?? {};

test("arrays become typed arrays with their shape, number words become numbers", () => {
  const { x, lone, nested } = readInputs({
    x: { dtype: "float32", shape: [2, 2], data: [1, "NaN", "Infinity", "-Infinity"] },
    lone: "-Infinity",
    nested: [[1, "NaN"], { word: "text" }],
  });
  expect(x).toEqual({ dtype: "float32", shape: [2, 2], data: Float32Array.of(1, NaN, Infinity, -Infinity) });
  expect(lone).toBe(-Infinity);
  expect(nested).toEqual([[1, NaN], { word: "text" }]);
});

test("flags, quirk names and recorded failures are read", () => {
  const { cases } = readGoldenFile(
    write(
      fileOf(
        caseOf({}),
        caseOf({}, { upstream_only: true }),
        caseOf({}, { name: "quirk/odd", upstream_only_outputs: ["y"] }),
        caseOf({}, { outputs: { throws: "ValueError" } }),
        caseOf({}, { outputs: { error: "KeyError" } }),
      ),
    ),
  );
  expect(cases.map((c) => c.upstreamOnly)).toEqual([false, true, true, false, false]);
  expect(cases.map((c) => c.failure)).toEqual([undefined, undefined, undefined, "ValueError", "KeyError"]);
  expect(cases[2]?.upstreamOnlyOutputs).toEqual(["y"]);
});

test.each([
  ["text that is no JSON", "{", /JSON/],
  ["a list", [], /expected an object/],
  ["no cases", { family: "f", function: "g" }, /cases: expected a list/],
  ["no tolerance", fileOf({ name: "c", inputs: {}, outputs: {}, rtol: 0 }), /cases\[0\] \(c\)\.atol/],
  ["a negative tolerance", fileOf(caseOf({}, { rtol: -1 })), /rtol: expected a number >= 0/],
  ["an unknown dtype", fileOf(caseOf({ x: { dtype: "f8", shape: [], data: [] } })), /inputs\.x\.dtype: "f8"/],
  ["too few values", fileOf(caseOf({ x: { dtype: "int32", shape: [2], data: [1] } })), /1 values for the shape \[2\]/],
  ["a word for a number", fileOf(caseOf({ x: { dtype: "int32", shape: [1], data: ["one"] } })), /data\[0\]: "one"/],
])("%s is an error that names the file", (_, content, reason) => {
  const path = write(content);
  expect(() => readGoldenFile(path)).toThrow(path);
  expect(() => readGoldenFile(path)).toThrow(reason);
});

test("a folder that is missing or empty is an error", () => {
  expect(() => readGoldenFolder(join(folder, "absent"))).toThrow(/absent: no such folder/);
  expect(() => readGoldenFolder(folder)).toThrow(/no \*\.json file/);
});

test("inputs are read as the type that is asked for, or refused by name", () => {
  const inputs = new Inputs(
    readInputs({
      logits: { dtype: "float32", shape: [2, 1], data: [1, 2] },
      ids: { dtype: "int32", shape: [3], data: [1, 2, 3] },
      list: [4, 5],
      rows: [[1, 2], [], [3]],
      arrays: [{ dtype: "float32", shape: [1], data: [0.5] }],
      mode: "answer",
      absent: null,
    }),
  );
  expect(inputs.floats("logits")).toEqual(Float32Array.of(1, 2));
  expect(inputs.shape2("logits")).toEqual([2, 1]);
  expect(inputs.numbers("ids")).toEqual([1, 2, 3]);
  expect(inputs.numbers("list")).toEqual([4, 5]);
  expect(inputs.floatRows("rows")).toEqual([Float64Array.of(1, 2), Float64Array.of(), Float64Array.of(3)]);
  expect(inputs.floatRows("arrays")).toEqual([Float32Array.of(0.5)]);
  expect(inputs.packedFloats("rows")).toEqual({ values: Float64Array.of(1, 2, 3), offsets: Int32Array.of(0, 2, 2, 3) });
  expect(inputs.packedFloats("arrays").values).toEqual(Float32Array.of(0.5));
  expect(inputs.oneOf("mode", ["answer", "thinking"])).toBe("answer");
  expect(inputs.has("absent")).toBe(false);
  expect(() => inputs.uint8("ids")).toThrow('input "ids" is not uint8');
  expect(() => inputs.oneOf("mode", ["joint"])).toThrow('input "mode" is not joint');
  expect(() => inputs.number("nothing")).toThrow('no input "nothing"');
});
