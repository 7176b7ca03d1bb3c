// What `npm run test:mutants` plants: the named mistakes stand where they are said to, and the drawn ones are the same every time.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(__dirname, "../..");

interface Mutant {
  readonly path: string;
  readonly from: string;
  readonly to: string;
  readonly text?: string;
  readonly proof?: string;
  readonly tests?: readonly { readonly args: readonly string[] }[];
}

const listed = (name: string): Mutant[] =>
  JSON.parse(readFileSync(join(root, "test/mutants", `${name}.json`), "utf8")) as Mutant[];

/** What a program of ES modules prints, as JSON. */
function printed(program: string): unknown {
  const text = execFileSync(process.execPath, ["--input-type=module", "--eval", program], {
    cwd: root,
    encoding: "utf8",
  });
  return JSON.parse(text) as unknown;
}

test.each(listed("named").map((mutant) => [`${mutant.path}: ${mutant.from} → ${mutant.to}`, mutant] as const))(
  "stands once: %s",
  (_, { path, from, to }) => {
    expect(readFileSync(join(root, path), "utf8").split(from)).toHaveLength(2);
    expect(to).not.toBe(from);
  },
);

test("what is the same program stands where it did, with its proof", () => {
  for (const { path, text, from, proof } of listed("equivalent")) {
    const lines = readFileSync(join(root, path), "utf8").split("\n");
    expect(lines.map((line) => line.trim())).toContain(text);
    expect(text).toContain(from.split("\n")[0]);
    expect(proof).toMatch(/\w+ \w+ \w+/);
  }
});

test("the drawn mutants of a seed are the same every time, in every folder and of every operator", () => {
  const draw = (seed: number): Record<string, unknown>[][] =>
    printed(`
      import { FOLDERS } from "./scripts/mutants/areas.mjs";
      import { drawMutants } from "./scripts/mutants/draw.mjs";
      const firstOf = (mutants) => [1, 2, 3, 4, 5, 6].map(() => mutants.next().value);
      console.log(JSON.stringify(FOLDERS.map((folder) => firstOf(drawMutants(${seed}, folder)))));
    `) as Record<string, unknown>[][];
  const once = draw(1);
  expect(draw(1)).toEqual(once);
  expect(draw(2)).not.toEqual(once);
  const all = once.flat();
  expect(all.length).toBeGreaterThan(100);
  expect(new Set(all.map(({ operator }) => operator))).toEqual(
    new Set(["bound", "comparison", "constant", "deletion", "sign"]),
  );
  expect(all).not.toContain(null);
});

test("mistakes are planted in code alone: not in types, messages, comments or lines of the preprocessor", () => {
  const found = (path: string, text: string): string[] =>
    printed(`
      import { mutantsOf } from "./scripts/mutants/operators.mjs";
      const found = mutantsOf(${JSON.stringify(path)}, ${JSON.stringify(text)});
      console.log(JSON.stringify(found.map(({ operator, from, to }) => operator + ": " + from + " → " + to)));
    `) as string[];
  expect(
    found("a.ts", 'type A = 1 | true;\nconst f = (a: 2, b = a < 3) => -a; // 4 < 5\nthrow new RangeError("6" + 7);'),
  ).toEqual(["comparison: < → <=", "constant: 3 → 4", "sign: -a → a"]);
  expect(
    found(
      "a.cpp",
      '#define N 8\n// 1 < 2\nint f(int a) {\n  if (a < 3) return a + 1;\n  g("4 < 5");\n  return a * 2;\n}\n',
    ),
  ).toEqual([
    "comparison: < → <=",
    "sign: + → -",
    "sign: * → /",
    "bound:  + 1 → ",
    "constant: 3 → 4",
    "constant: 1 → 2",
    "constant: 2 → 3",
    'deletion: g("4 < 5"); → ;',
    "deletion: a < 3 → false",
  ]);
});

test("every area has tests", () => {
  const counts = printed(`
    import { areaOf, FOLDERS } from "./scripts/mutants/areas.mjs";
    import { testsAt } from "./scripts/mutants/near.mjs";
    const testsOf = (folder) => {
      const { unbuilt, steps } = areaOf(folder + "/x.ts");
      return [unbuilt, steps].flatMap((list) => list(folder + "/x.ts")).flatMap(({ args }) => testsAt(args));
    };
    console.log(JSON.stringify(FOLDERS.map((folder) => [folder, testsOf(folder).length])));
  `) as [string, number][];
  expect(counts.length).toBeGreaterThan(15);
  expect(counts.filter(([, count]) => count === 0)).toEqual([]);
});
