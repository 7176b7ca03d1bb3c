// JavaScript programs, well-behaved and not.
import { spawnSync } from "node:child_process";
import { distFile } from "../support/dist";
import type { RewardResult } from "../../lib/reward";
import { built } from "../support/built-reward";
import { JAVASCRIPT } from "./attacks/javascript";
import { HANG_MS } from "../support/hang";

const LATE = "time limit";

const ATTEMPTS: readonly (readonly [string, string, readonly string[]])[] = [
  ["a loop without end", "while (true) {}", [LATE]],
  ["memory without end", "const a = []; while (true) a.push(new Array(1e6).fill(1))", ["memory limit", LATE]],
  ["a gigabyte of prints", "while (true) console.log('x'.repeat(1e5))", ["output limit", LATE]],
  ["recursion without end", "(function f() { f(); f() })()", ["error", "crash"]],
  ["promises without end", "(function f() { Promise.resolve().then(f) })()", [LATE, "error"]],
  ["process.exit", "process.exit(3)", ["exit"]],
  ["a module of the host", "require('child_process').execSync('ls'); console.log('pwned')", ["error"]],
  ["a file of the host", "console.log('pwned', require('fs').readFileSync('/etc/passwd'))", ["error"]],
  ["import", "import('node:fs').then(() => console.log('pwned'))", ["error", "crash", "wrong output"]],
  [
    "the host's globals",
    "const p = globalThis.constructor.constructor('return process')(); if (p.mainModule || p.binding || p.kill) console.log('pwned')",
    ["wrong output", "error"],
  ],
  [
    "the constructor of what the host gave",
    "if (console.log.constructor.constructor('return typeof WebAssembly + typeof Buffer')() !== 'undefinedundefined') console.log('pwned')",
    ["wrong output"],
  ],
  ["fetch", "fetch('http://127.0.0.1/').then(() => console.log('pwned'))", ["error"]],
  ["a stolen harness", "if (globalThis.__host) console.log('pwned')", ["wrong output"]],
  ["no program", "function f(", ["syntax error"]],
];

let sandbox: ReturnType<typeof built.createCodeSandbox>;
let results: RewardResult[];

beforeAll(async () => {
  sandbox = built.createCodeSandbox({ workers: 2 });
  const tests = { language: "javascript", io: [{ input: "1", output: "needle" }] } as const;
  results = await built.codeReward(
    ATTEMPTS.map(([, program]) => program),
    tests,
    { sandbox, timeLimit: 2000 },
  );
});

afterAll(() => sandbox.dispose());

test.each(ATTEMPTS.map(([name, , reasons], i) => [name, reasons, i] as const))(
  "%s is a reward of 0, with its reason",
  (_, reasons, i) => {
    expect(results[i]!.reward).toBe(0);
    expect(reasons).toContain(results[i]!.reason);
    expect(JSON.stringify(results[i]!.details)).not.toContain("pwned");
  },
);

test.each([
  "console.log(Number(require('fs').readFileSync(0, 'utf8')) * 2)",
  "require('readline').createInterface({ input: process.stdin }).on('line', (line) => console.log(line * 2))",
  "let text = ''; process.stdin.on('data', (part) => (text += part)); process.stdin.on('end', () => console.log(text * 2))",
  "setTimeout(() => console.log(42), 1000)",
  "(async () => { await null; process.stdout.write('42\\n') })()",
])("reads and prints: %s", async (program) => {
  const [result] = await built.codeReward(
    [program],
    { language: "javascript", io: [{ input: "21\n", output: "42" }] },
    { sandbox },
  );
  expect(result).toMatchObject({ reward: 1, reason: "passed" });
});

const LIBRARY = `
const add = (a, b) => a + b;
export function push(items, x) { items.push(x); return items }
class Stack { constructor() { this.items = [] } push(x) { this.items.push(x); return this.items } pop() { return this.items.pop() } }
function* count(n) { for (let i = 0; i < n; i++) yield i }
const apply = (f, x) => f(x);
async function later(x) { await null; if (x < 0) throw new TypeError("less than 0"); return x + 1 }
class Refusal extends RangeError {}
function fail() { throw new Refusal("no") }
const pattern = () => /b/g;
const nul = () => "a\\0b";
const anything = () => new Stack();
const other = () => ({ valueOf: () => 3, toString: () => "2", equals: () => true });
JSON.stringify = () => "{}"; Array.prototype.every = () => true;
const table = () => new Map([[1, { a: [2n] }]]);
`;

const RIGHT: readonly string[] = [
  "assert.strictEqual(add(1, 2), 3)",
  "assert.deepStrictEqual(push([1], 2), [1, 2])",
  "assert.deepEqual(new Stack().push(5), [5]); assert.strictEqual(new Stack().pop(), undefined)",
  "assert.deepEqual([...count(3)], [0, 1, 2])",
  "assert.equal(apply((v) => v + 1, 4), 5)",
  "assert.equal(await later(1), 2)",
  "assert.throws(() => fail(), RangeError); assert.throws(() => fail(), Refusal); assert.throws(() => fail(), /no/)",
  "await assert.rejects(later(-1), TypeError)",
  "assert.deepStrictEqual(table(), new Map([[1, { a: [2n] }]]))",
  "assert.strictEqual(nul(), 'a\\0b')",
  "assert.deepStrictEqual(pattern(), /b/g); assert.equal(add.name, 'add')",
  "const check = (candidate) => assert.equal(candidate(1, 2), 3); check(add)",
];

test("what an honest program returns, throws and awaits reaches its tests", async () => {
  const tests = { language: "javascript", assertions: RIGHT } as const;
  const [result] = await built.codeReward([LIBRARY], tests, { sandbox, credit: "fraction" });
  expect([result!.reward, result!.details, RIGHT[Number(result!.details?.["test"] ?? 0)]]).toEqual([
    1,
    { passed: RIGHT.length, total: RIGHT.length },
    RIGHT[0],
  ]);
});

const FAILING: readonly (readonly [string, string])[] = [
  ["assert.strictEqual(add(1, 2), 4)", "assertion failed"],
  ["assert.deepStrictEqual(anything(), 2)", "cannot cross"],
  ["assert.deepStrictEqual(count(2), [0, 1])", "assertion failed"],
  ["assert.deepStrictEqual(push([], 1), [2])", "assertion failed"],
  ["const x = [1]; push(x, 2); assert.deepEqual(x, [1, 2])", "assertion failed"],
  ["const s = new Stack(); s.push(5); assert.equal(s.pop(), 5)", "cannot cross"],
  ["assert.deepStrictEqual(pattern(), /c/)", "assertion failed"],
  ["await new Promise(() => {}); add(1, 2)", "error"],
];

test("every other end of a test is a failure, with its reason", async () => {
  const tests = FAILING.map(([assertions]) => ({ language: "javascript", assertions }) as const);
  const judged = await built.codeReward(
    FAILING.map(() => LIBRARY),
    tests,
    { sandbox },
  );
  expect(judged.map(({ reward, reason }) => `${reward} ${reason}`)).toEqual(FAILING.map(([, reason]) => `0 ${reason}`));
});

test("tests that keep objects run in the program's interpreter where that is asked for", async () => {
  const assertions = "const s = new Stack(); s.push(5); assert.equal(s.pop(), 5)";
  const tests = { language: "javascript", assertions, isolation: "shared" } as const;
  const [result] = await built.codeReward([LIBRARY], tests, { sandbox });
  expect(result).toMatchObject({ reward: 1, reason: "passed" });
});

describe("a program that would be paid for nothing", () => {
  let attacks: RewardResult[];
  beforeAll(async () => {
    const control = "function control(x) { return 2 * x }\n";
    attacks = await built.codeReward(
      JAVASCRIPT.map(({ program }) => control + program),
      JAVASCRIPT.map(({ test = "assert.deepStrictEqual(solve(3), 9)", names }) => ({
        language: "javascript",
        assertions: ["assert.equal(control(21), 42)", test],
        ...(names && { names: ["control", ...names] }),
      })),
      { sandbox, credit: "fraction" },
    );
  });

  test.each(JAVASCRIPT.map(({ name }, i) => [name, i] as const))("%s: no reward", (_, i) => {
    expect(Number(attacks[i]!.details!["passed"])).toBeLessThanOrEqual(1);
    expect(attacks[i]!.reason).not.toBe("syntax error");
  });
});

test("idle workers do not keep Node from ending", () => {
  const program = `
const { codeReward, mathEqual } = require(${JSON.stringify(distFile("reward"))});
const tests = { language: "javascript", io: [{ input: "", output: "1" }] };
const progress = [];
codeReward(["console.log(1)", "console.log(2)"], tests, { onProgress: (done, total) => progress.push(done + "/" + total) }).then(async (results) => {
  console.log(results.map(({ reward }) => reward).join(), progress.join(), await mathEqual("x+x", "2x", { timeLimit: 20000 }));
});`;
  const { stdout, stderr, status } = spawnSync(process.execPath, ["-e", program], {
    encoding: "utf8",
    timeout: HANG_MS,
  });
  expect({ stdout, stderr, status }).toEqual({ stdout: "1,0 1/2,2/2 true\n", stderr: "", status: 0 });
});
