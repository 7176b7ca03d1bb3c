// Whether two expressions are equal, by the symbolic library. Runs in a worker, which is stopped where it takes too long.
import { parentPort, workerData } from "node:worker_threads";
import { requireHere } from "../../core/package-root";

/** The part of @cortex-js/compute-engine that is used. */
interface Expression {
  readonly isValid: boolean;
  readonly operator: string;
  readonly unknowns: readonly string[];
  readonly re: number;
  readonly im: number;
  readonly ops?: readonly Expression[] | null;
  isSame(other: Expression): boolean;
  isEqual(other: Expression): boolean | undefined;
  simplify(): Expression;
  subs(values: Readonly<Record<string, number>>): Expression;
  N(): Expression;
}
interface Engine {
  parse(latex: string): Expression;
  box(json: unknown): Expression;
}

export interface SymbolicQuestion {
  readonly a: string;
  readonly b: string;
}

/** Points in (−2, 2) and beyond at which two expressions with unknowns are compared; no simple numbers, at which things cancel. */
const POINTS = [0.3731, -0.6217, 1.4142857, -1.7320491, 2.6180315, 0.0917, -3.1419, 5.4365];
const ENOUGH = 4;
const CLOSE = 1e-9;

function load(path: string): Engine {
  const { ComputeEngine } = requireHere()(path) as { ComputeEngine: new () => Engine };
  return new ComputeEngine();
}

function close(a: Expression, b: Expression): boolean {
  const size = Math.max(1, Math.hypot(b.re, b.im || 0));
  return Math.hypot(a.re - b.re, (a.im || 0) - (b.im || 0)) <= CLOSE * size;
}

/** By values at some points. Points at which either has no value say nothing. */
function sameValues(a: Expression, b: Expression): boolean {
  const names = [...new Set([...a.unknowns, ...b.unknowns])];
  let compared = 0;
  for (let k = 0; k < (names.length === 0 ? 1 : POINTS.length); ++k) {
    const at = Object.fromEntries(names.map((name, i) => [name, POINTS[(k + 3 * i) % POINTS.length]! + i]));
    const [x, y] = [a.subs(at).N(), b.subs(at).N()];
    if (!Number.isFinite(x.re) || !Number.isFinite(y.re)) continue;
    if (!close(x, y)) return false;
    ++compared;
  }
  return compared >= (names.length === 0 ? 1 : ENOUGH);
}

/** Equations are equal if their differences are, up to the sign. */
function difference(engine: Engine, { ops }: Expression, swap: boolean): Expression {
  const [left, right] = ops as readonly [Expression, Expression];
  return engine.box(swap ? ["Subtract", right, left] : ["Subtract", left, right]);
}

function equal(engine: Engine, a: Expression, b: Expression): boolean {
  if (!a.isValid || !b.isValid) return false;
  if (a.isSame(b)) return true;
  if (a.operator === "Equal" && b.operator === "Equal")
    return [false, true].some((swap) => equal(engine, difference(engine, a, false), difference(engine, b, swap)));
  if (a.isEqual(b) === true) return true;
  return a.simplify().isSame(b.simplify()) || sameValues(a, b);
}

const engine = load(workerData as string);
parentPort?.on("message", ({ a, b }: SymbolicQuestion) => {
  let answer = false;
  try {
    answer = equal(engine, engine.parse(a), engine.parse(b));
  } catch {
    answer = false; // what the library cannot read or compute is not equal
  }
  parentPort?.postMessage({ equal: answer });
});
