// Checks of option values.
import { closest } from "./closest";
import { argumentError, show } from "./errors";

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
  if (!ok) throw argumentError("ERR_SURPRISAL_OPTION", op, name, value, describeRange(range));
  return value;
}

/** The refusal of a name that is none of a table, with the nearest that is. */
export function unknownName(op: string, name: string, value: unknown, known: readonly string[]): Error {
  const near = typeof value === "string" ? closest(value, known) : undefined;
  const hint = near === undefined ? undefined : `did you mean ${show(near)}?`;
  return argumentError(
    "ERR_SURPRISAL_OPTION",
    op,
    name,
    value,
    `one of ${known.map((each) => show(each)).join(", ")}`,
    hint,
  );
}

/** One of the listed words. Returns its position, which is the number of the native interface. */
export function needWord<Word extends string>(op: string, name: string, value: Word, words: readonly Word[]): number {
  // A loop: lists are short, and indexOf is a call of its own.
  for (let i = 0; i < words.length; ++i) if (words[i] === value) return i;
  throw argumentError("ERR_SURPRISAL_OPTION", op, name, value, `one of ${words.map((word) => `"${word}"`).join(", ")}`);
}

/** A yes or no, as backends take it. */
export function needFlag(op: string, name: string, value: unknown): number {
  if (value === undefined || value === false) return 0;
  if (value === true) return 1;
  throw argumentError("ERR_SURPRISAL_OPTION", op, name, value, "true or false");
}
