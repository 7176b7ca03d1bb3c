// Whether two expressions are equal, by the symbolic library. Runs in a worker, which is stopped where it takes too long.
import { createHash } from "node:crypto";
import { parentPort, workerData } from "node:worker_threads";
import { requireHere } from "../../core/package-root";
import type { MathJson } from "./math-json";

/** The part of @cortex-js/compute-engine that is used. */
interface Expression {
  readonly isValid: boolean;
  readonly unknowns: readonly string[];
  readonly re: number;
  readonly im: number;
  /** Undefined where it is an integer, or known in float64 only. */
  readonly bignumRe: object | undefined;
  isSame(other: Expression): boolean;
  simplify(): Expression;
  subs(values: Readonly<Record<string, Expression>>): Expression;
  N(): Expression;
}
interface Engine {
  precision: number;
  parse(latex: string): Expression;
  box(json: unknown): Expression;
}

/** An expression as MathJSON, or an answer in LaTeX that only the library may understand. */
type Side = MathJson | { readonly latex: string };

export interface SymbolicQuestion {
  readonly a: Side;
  readonly b: Side;
  /** The same value; one a multiple of the other; or at most so far apart. */
  readonly how: "value" | "multiple" | number;
}

/** Points at which two expressions with unknowns are compared. */
const POINTS = 8;
const ENOUGH = 4;
/** For factorials, of which the library has values between integers in float64 only. */
const COUNTS = /"(?:Factorial|Binomial)"/;
const INTEGERS = ["2", "3", "5", "4", "7", "6", "9", "8"];
const DIGITS = 60;
/** Relative, of values with all digits; what is closer to 0 than `NOTHING` is 0. */
const CLOSE = 1e-40;
const NOTHING = 1e-50;
/** Of values that the library has in float64 only. */
const CLOSE_FLOATS = 1e-12;

function load(path: string): Engine {
  const { ComputeEngine } = requireHere()(path) as { ComputeEngine: new () => Engine };
  const engine = new ComputeEngine();
  engine.precision = DIGITS;
  return engine;
}

const engine = load(workerData as string);

/** Functions that are others on both sides of a number: |x − 6| is 6 − x up to 6. */
const TURNS =
  /"(?:Abs|Max|Min|Floor|Ceil|Round|Sign|Mod|Heaviside)"|\||\\(?:max|min|lfloor|lceil|vert|lvert|operatorname)/;
const MOST_TURNS = 6;
/** Beyond the largest number of the question, where a turn may lie that is made of several: |x/2 − 6|. */
const BEYOND = [13, 211];

/**
 * Within ±4, half of them negative, all of them or none of several unknowns; no simple numbers, at which things cancel. They depend on the
 * question, so that nothing can be added to an answer that is 0 at all of them. Where a function may turn, there are more on both sides of
 * each number, and beyond all.
 */
function pointsOf(question: string): readonly string[] {
  const bytes = createHash("sha256").update(question).digest();
  const shares = Array.from({ length: POINTS }, (_, k) => bytes.readUInt32LE(4 * k) / 2 ** 32);
  const points = shares.map((share, k) => `${k % 2 === 0 ? "" : "-"}${(0.05 + 3.9 * share).toFixed(9)}`);
  if (!TURNS.test(question)) return points;
  const numbers = [...new Set(Array.from(question.matchAll(/\d+(?:\.\d+)?/g), ([text]) => Number(text)))];
  const known = numbers.filter((number) => number <= 1e6).slice(0, MOST_TURNS);
  const beyond = BEYOND.map((times) => times * Math.max(1, ...known));
  const aside = 0.05 + 0.4 * shares[0]!;
  const more = [...known, ...beyond].flatMap((number) => [
    number + aside,
    aside - number,
    number - aside,
    -number - aside,
  ]);
  return [...points, ...more.map((point) => point.toFixed(9))];
}

const size = (x: Expression): number => Math.hypot(x.re, x.im || 0);
const isExact = (x: Expression): boolean => (x.im || 0) === 0 && (x.bignumRe !== undefined || Number.isInteger(x.re));

function close(x: Expression, y: Expression): boolean {
  const apart = size(engine.box(["Subtract", x, y]).N());
  const scale = Math.max(size(x), size(y));
  if (isExact(x) && isExact(y)) return apart <= Math.max(CLOSE * scale, NOTHING);
  return apart <= CLOSE_FLOATS * scale;
}

/** Values at points at which both have one. */
function* samples(
  a: Expression,
  b: Expression,
  points: readonly string[],
): Generator<readonly [Expression, Expression]> {
  const names = [...new Set([...a.unknowns, ...b.unknowns])];
  for (let k = 0; k < (names.length === 0 ? 1 : points.length); ++k) {
    const at = Object.fromEntries(
      names.map((name, i) => [name, engine.box(["Add", { num: points[(k + 2 * i) % points.length]! }, i])]),
    );
    const [x, y] = [a.subs(at).N(), b.subs(at).N()];
    if (Number.isFinite(x.re) && Number.isFinite(y.re)) yield [x, y];
  }
}

function sameValues(a: Expression, b: Expression, points: readonly string[]): boolean {
  let compared = 0;
  for (const [x, y] of samples(a, b, points)) {
    if (!close(x, y)) return false;
    ++compared;
  }
  return compared >= (a.unknowns.length + b.unknowns.length === 0 ? 1 : ENOUGH);
}

function areMultiples(a: Expression, b: Expression, points: readonly string[]): boolean {
  const quotients: Expression[] = [];
  for (const [x, y] of samples(a, b, points)) {
    const [p, q] = [size(x) <= NOTHING, size(y) <= NOTHING];
    if (p !== q) return false;
    if (!p) quotients.push(engine.box(["Divide", x, y]).N());
  }
  return quotients.length >= ENOUGH && quotients.every((quotient) => close(quotient, quotients[0]!));
}

function areNear(a: Expression, b: Expression, within: number): boolean {
  const { re, im } = engine.box(["Subtract", a, b]).N();
  return Math.abs(re) <= within && (im || 0) === 0;
}

const read = (side: Side): Expression =>
  typeof side === "object" && "latex" in side ? engine.parse(side.latex) : engine.box(side);

function answer({ a, b, how }: SymbolicQuestion): boolean {
  const question = JSON.stringify([a, b]);
  const points = COUNTS.test(question) ? INTEGERS : pointsOf(question);
  const [x, y] = [read(a), read(b)];
  if (!x.isValid || !y.isValid) return false;
  if (typeof how === "number") return areNear(x, y, how);
  if (how === "multiple") return areMultiples(x, y, points);
  if (x.isSame(y) || x.simplify().isSame(y.simplify())) return true;
  return sameValues(x, y, points);
}

parentPort?.on("message", (question: SymbolicQuestion) => {
  let equal = false;
  try {
    equal = answer(question);
  } catch {
    equal = false; // what the library cannot read or compute is not equal
  }
  parentPort?.postMessage({ equal });
});
