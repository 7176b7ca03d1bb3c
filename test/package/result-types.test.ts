// Of float32 alone a call returns float32, and what its type says is what it returns: the calls that the cases of the ops, the
// losses and the estimators make are made again with float32 in place of float64, and a program with the types of their arguments
// and the classes of their results goes through the compiler.
import { readFileSync } from "node:fs";
import path from "node:path";
import ts from "typescript";
import * as lib from "../../lib";
import { readGoldenFolder } from "../conformance/golden";
import { mappings } from "../conformance/mappings";
import { runBackend } from "../conformance/run";
import { ESTIMATORS } from "../advantage/laws/estimator-table";
import { tokenCase } from "../advantage/laws/token-batch";
import { outcomeOf } from "../hazards/non-finite/outcome";
import { GROUP_CASES } from "../hazards/non-finite/group-cases";
import { LOGIT_CASES } from "../hazards/non-finite/logit-cases";
import { LOSS_CASES } from "../hazards/non-finite/loss-cases";
import { TOKEN_CASES } from "../hazards/non-finite/token-cases";
import { LOSSES } from "../loss/laws/loss-table";
import type * as recorder from "./recorded-calls";
import { type Args, type Call, calls } from "./recorded-calls";

jest.mock("../../lib", () =>
  jest.requireActual<typeof recorder>("./recorded-calls").recording(jest.requireActual("../../lib")),
);
jest.mock("surprisal", () =>
  jest.requireActual<typeof recorder>("./recorded-calls").recording(jest.requireActual("surprisal")),
);

/** Public functions with arrays of numbers that are not called here. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  cpgdLoss: 'policyLoss("cpgd") has its types',
  criticMetrics: "gives numbers",
  drawRows: "gives ids",
  lengthMetrics: "gives numbers",
  linearLogprobBackwardTogether: "linearLogprobBackward has its types",
  linearLogprobTogether: "linearLogprob has its types",
  majorityAtN: "gives numbers",
  maxentAdvantage: 'computeAdvantages("maxent") has its types',
  optimalValueAdvantage: 'computeAdvantages("optimalValue") has its types',
  optimalValueLoss: 'policyLoss("optimalValue") has its types',
  trustRegionMask: "gives flags",
  validationMetrics: "gives numbers",
};

const isPlain = (value: unknown): value is object =>
  typeof value === "object" &&
  value !== null &&
  [Object.prototype, null].includes(Object.getPrototypeOf(value) as object | null);

/** By what a call gave: what it gave of float32. A state goes from one call to the next. */
const narrowResults = new WeakMap<object, unknown>();

/** What `result`, and each object in it, came out as of float32. */
function remember(result: unknown, got: unknown): void {
  if (!isPlain(result) || !isPlain(got)) return;
  narrowResults.set(result, got);
  for (const [key, inner] of Object.entries(result)) remember(inner, (got as Record<string, unknown>)[key]);
}

/** The same value with float32 in place of float64, but for what is called one of `kept`. */
function narrowed(value: unknown, kept: ReadonlySet<string>, name = ""): unknown {
  if (value instanceof Float64Array) return kept.has(name) ? value : Float32Array.from(value);
  if (Array.isArray(value) && value.every((one) => ArrayBuffer.isView(one)))
    return value.map((one) => narrowed(one, kept, name));
  if (!isPlain(value)) return value;
  const before = narrowResults.get(value);
  return before ?? Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, narrowed(inner, kept, key)]));
}

interface Narrow {
  readonly args: Args;
  readonly result: unknown;
}

/** The call with float32 wherever it takes that. What has to be float64 its refusal names. */
function narrow(call: Call, kept: ReadonlySet<string> = new Set()): Narrow {
  const { run, args, result } = call;
  const given = args.map((arg) => narrowed(arg, kept));
  try {
    const got = run(...given);
    remember(result, got);
    return { args: given, result: got };
  } catch (error) {
    const { code, details } = error as { readonly code?: string; readonly details?: { readonly name?: string } };
    const name = code === "ERR_SURPRISAL_DTYPE" ? /[\w$]+$/.exec(details?.name ?? "")?.[0] : undefined;
    if (name === undefined || kept.has(name)) throw error;
    // An argument itself has no name here: all of them stay then.
    return narrow(call, new Set([...kept, name, ""]));
  }
}

/** The type of an argument, as somebody would have it who wrote the call down. */
function typeOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value === "string") return JSON.stringify(value);
  if (ArrayBuffer.isView(value)) return value.constructor.name;
  if (Array.isArray(value)) {
    if (value.some((one) => isPlain(one) && "partials" in one)) return "any"; // a class of its own
    const types = new Set(value.map(typeOf));
    return value.length === 2 && value.every((one) => typeof one === "number")
      ? "readonly [number, number]"
      : `readonly (${[...types].join(" | ") || "never"})[]`;
  }
  if (isPlain(value)) {
    const fields = Object.entries(value).filter(([, inner]) => inner !== undefined);
    return `{ ${fields.map(([key, inner]) => `readonly ${JSON.stringify(key)}: ${typeOf(inner)}`).join("; ")} }`;
  }
  return typeof value === "object" || typeof value === "function" ? "any" : typeof value;
}

/** Every array of numbers in a result: how it is reached, and its class. */
function classesIn(value: unknown, reached: string, depth = 3): [reached: string, name: string][] {
  if (value instanceof Float32Array || value instanceof Float64Array) return [[reached, value.constructor.name]];
  if (!isPlain(value) || depth === 0) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    classesIn(inner, `${reached}![${JSON.stringify(key)}]`, depth - 1),
  );
}

/** A call as a few lines of a program, which compile if the types say what came. */
function linesOf({ name }: Call, { args, result }: Narrow): string {
  const given = args.map((arg, i) => `arg${i}: ${typeOf(arg)}`).join(", ");
  // float32 is said, and so is float64, maybe as one of both.
  const results = classesIn(result, "result").map(([reached, type], i) =>
    type === "Float32Array"
      ? `const r${i}: ${type} = ${reached}!;`
      : `let r${i} = ${reached}!; r${i} = null as unknown as ${type};`,
  );
  return `(${given}) => { const result = s.${name}(${args.map((_, i) => `arg${i}`).join(", ")}); ${results.join(" ")} };`;
}

const ROOT = path.join(__dirname, "../..");
const PROGRAM = path.join(__dirname, "generated-calls.ts");

function complaintsOf(program: string): string[] {
  const { config } = ts.readConfigFile(path.join(ROOT, "tsconfig.lib.json"), (file) => ts.sys.readFile(file)) as {
    config: object;
  };
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  const settings: ts.CompilerOptions = {
    ...options,
    noEmit: true,
    noUnusedLocals: false,
    composite: false,
    incremental: false,
  };
  delete settings.rootDir;
  const host = ts.createCompilerHost(settings);
  const plain = { ...host };
  host.getSourceFile = (file, version, ...rest) =>
    path.resolve(file) === PROGRAM
      ? ts.createSourceFile(file, program, version)
      : plain.getSourceFile(file, version, ...rest);
  host.fileExists = (file) => path.resolve(file) === PROGRAM || plain.fileExists(file);
  host.readFile = (file) => (path.resolve(file) === PROGRAM ? program : plain.readFile(file));
  const compiled = ts.createProgram([PROGRAM], settings, host);
  const source = compiled.getSourceFile(PROGRAM)!;
  return [...compiled.getSyntacticDiagnostics(source), ...compiled.getSemanticDiagnostics(source)].map(
    ({ start, messageText }) => {
      const { line } = source.getLineAndCharacterOfPosition(start ?? 0);
      return `${ts.flattenDiagnosticMessageText(messageText, " ").slice(0, 600)}\n  in ${program.split("\n")[line]!}`;
    },
  );
}

/** Makes every call of the cases, which are recorded. */
function runCases(): void {
  const backend = "js";
  for (const one of [...TOKEN_CASES, ...GROUP_CASES, ...LOGIT_CASES, ...LOSS_CASES]) outcomeOf(one, backend);
  const { padded } = tokenCase(7, 6, 5, "full");
  for (const { variants } of Object.values(ESTIMATORS))
    for (const { run } of Object.values(variants)) run(padded, backend);
  const golden = readGoldenFolder(path.join(__dirname, "../golden"));
  runBackend(
    golden.map((file) => ({ ...file, cases: file.cases.slice(0, 2) })),
    mappings,
    backend,
  );
  // What none of them calls.
  const numbers = Float64Array.of(0.5, -1, 0.25, 1);
  const state = lib.updateRunningMoments(lib.NO_MOMENTS, numbers).moments;
  lib.scaleByMoments(numbers, state);
  lib.whitenAdvantages(numbers, { shape: [2, 2] });
  lib.weightStatistics(lib.uniformListwiseWeights({ shape: [2, 2] }), { shape: [2, 2] });
  lib.updateRoleBaselines(lib.NO_BASELINES, numbers, ["a", "b", "a", "b"]);
  const batch = { advantages: numbers, oldLogProbs: numbers };
  lib.gspoLoss({ ...batch, logProbs: numbers, shape: [2, 2] }, { clip: 0.2 });
  const logits = Float32Array.from({ length: 12 }, (_, i) => Math.sin(i));
  lib.policyLossFromLogits("ppo", logits, [0, 1, 2, 0], { ...batch, shape: [2, 2] }, { clip: 0.2, vocab: 3 });
  for (const { variants } of Object.values(LOSSES))
    for (const { run } of Object.values(variants)) run(padded, { backend });
}

const hasFloats = (value: unknown): boolean =>
  value instanceof Float32Array ||
  value instanceof Float64Array ||
  (typeof value === "object" && value !== null && !ArrayBuffer.isView(value) && Object.values(value).some(hasFloats));

/** What an entry says of the public functions that take arrays of numbers, or a batch of them. */
function takingNumbers(): string[] {
  const entry = readFileSync(path.join(ROOT, "lib/index.ts"), "utf8");
  const functions = entry.matchAll(/= checked\(\s*"(\w+)",\s*\(\) => from\.\w+,\s*("[^"]*"|\{.*?\n\s*\})/gs);
  return [...functions].flatMap(([, name, takes]) => (/:f|\*/.test(takes!) ? [name!] : []));
}

let lines: ReadonlyMap<string, string>;
beforeAll(() => {
  runCases();
  const called = calls.splice(0).filter(({ args, result }) => hasFloats(args) || hasFloats(result));
  lines = new Map(called.map((call) => [linesOf(call, narrow(call)), call.name]));
});

test("what the types say of float32 is what comes", () => {
  const program = ['import * as s from "../../lib";', ...lines.keys()].join("\n");
  expect(complaintsOf(program)).toEqual([]);
});

test("every function that takes numbers is among the calls, or has another's types", () => {
  const called = new Set(lines.values());
  expect(
    takingNumbers()
      .filter((name) => !called.has(name))
      .sort(),
  ).toEqual(Object.keys(ELSEWHERE).sort());
});
