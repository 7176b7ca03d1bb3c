// Checks of option values.
import { closest } from "./closest";
import { optionError, show } from "./errors";

export interface NumberRange {
  /** Smallest value allowed. Default −∞. */
  readonly min?: number;
  /** Largest value allowed. Default ∞. */
  readonly max?: number;
  /** The bound `min` itself is not allowed. */
  readonly above?: boolean;
  /** ±∞ is allowed. Default: only finite numbers. */
  readonly infinite?: boolean;
  /** Whole numbers only. */
  readonly integer?: boolean;
}

function describeRange({
  min = -Infinity,
  max = Infinity,
  above = false,
  infinite = false,
  integer = false,
}: NumberRange): string {
  const kind = integer ? "an integer" : infinite ? "a number" : "a finite number";
  if (min === -Infinity && max === Infinity) return kind;
  if (max === Infinity) return `${kind} ${above ? ">" : ">="} ${min}`;
  return `${kind} in ${above ? "(" : "["}${min}, ${max}]`;
}

/** A number within its range; NaN never is. */
export function needNumber(op: string, name: string, value: unknown, range: NumberRange = {}): number {
  const { min = -Infinity, max = Infinity, above = false, infinite = false, integer = false } = range;
  const ok =
    typeof value === "number" &&
    (above ? value > min : value >= min) &&
    value <= max &&
    (infinite || Number.isFinite(value)) &&
    (!integer || Number.isInteger(value));
  if (!ok) throw optionError(op, name, value, describeRange(range));
  return value;
}

/** Numbers of an array within their range, but those that are not to be `read`. A name is made for the one that is wrong alone. */
export function needNumbers(
  op: string,
  name: string,
  values: ArrayLike<number>,
  range: NumberRange,
  read: (k: number) => boolean,
): void {
  const { min = -Infinity, max = Infinity } = range;
  for (let k = 0; k < values.length; ++k)
    if (!(values[k]! >= min && values[k]! <= max) && read(k)) needNumber(op, `${name}[${k}]`, values[k], range);
}

/** Bounds, `low` at most `high`, each a number of the range or infinite; one that is not given is infinite. */
export function needBounds(
  op: string,
  given: { readonly low?: number; readonly high?: number },
  range: NumberRange = {},
): { readonly low: number; readonly high: number } {
  const bound = (name: "low" | "high", none: number): number =>
    given[name] === undefined ? none : needNumber(op, name, given[name], { ...range, infinite: true });
  const [low, high] = [bound("low", -Infinity), bound("high", Infinity)];
  if (low > high) throw optionError(op, "low", low, `at most high = ${high}`);
  return { low, high };
}

/** The refusal of a name that is none of a table, with the nearest that is. */
export function unknownName(op: string, name: string, value: unknown, known: readonly string[]): Error {
  const near = typeof value === "string" ? closest(value, known) : undefined;
  const hint = near === undefined ? undefined : `did you mean ${show(near)}?`;
  return optionError(op, name, value, `one of ${known.map((each) => show(each)).join(", ")}`, hint);
}

/** One of the listed words. Returns its position, which is the number of the native interface. */
export function needWord<Word extends string>(op: string, name: string, value: Word, words: readonly Word[]): number {
  // A loop: lists are short, and indexOf is a call of its own.
  for (let i = 0; i < words.length; ++i) if (words[i] === value) return i;
  throw optionError(op, name, value, `one of ${words.map((word) => `"${word}"`).join(", ")}`);
}

/** A yes or no, as backends take it. */
export function needFlag(op: string, name: string, value: unknown): number {
  if (value === undefined || value === false) return 0;
  if (value === true) return 1;
  throw optionError(op, name, value, "true or false");
}
