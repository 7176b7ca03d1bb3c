// Numbers and texts of a controller file: JSON, with words for the numbers that JSON does not have.
import { argumentError } from "../core/errors";

/** Where a value stands, and for whom it is read. */
export interface Place {
  /** The public function. */
  readonly op: string;
  /** The way to the value: `controllers.kl.state.coefficient`. */
  readonly at: string;
}

export const inside = ({ op, at }: Place, name: string): Place => ({ op, at: at === "" ? name : `${at}.${name}` });

export function corrupt({ op, at }: Place, got: unknown, want: string): Error {
  return argumentError("ERR_SURPRISAL_FILE", op, at === "" ? "the content" : at, got, want);
}

const WORDS: Readonly<Record<string, number>> = { NaN, Infinity, "-Infinity": -Infinity, "-0": -0 };

/** NaN, ±∞ and −0 as words, other numbers as they are: JSON writes all digits that a float64 needs. */
export function numberToJson(value: number): number | string {
  if (Object.is(value, -0)) return "-0";
  return Number.isFinite(value) ? value : String(value);
}

/** The number that a value of the file stands for; undefined where it stands for none. */
export function numberOf(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  return typeof value === "string" && Object.hasOwn(WORDS, value) ? WORDS[value] : undefined;
}

export type JsonRecord = Readonly<Record<string, unknown>>;

export function recordOf(value: unknown, place: Place): JsonRecord {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as JsonRecord;
  throw corrupt(place, value, "an object");
}

/** Character at which the text stops being JSON. */
function positionOf(error: unknown, text: string): number {
  const found = /position (\d+)/.exec(error instanceof Error ? error.message : "");
  return found ? Number(found[1]) : text.length;
}

/** Bare NaN and ±Infinity, as Python writes them, become words; what is inside strings stays. */
function withWords(text: string): string {
  return text.replace(/"(?:[^"\\]|\\.)*"|-?\b(?:NaN|Infinity)\b/g, (token) =>
    token.startsWith('"') ? token : `"${token}"`,
  );
}

/** The value of a JSON text. One that is cut off or damaged is refused, with the position. */
export function jsonOf(op: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    try {
      return JSON.parse(withWords(text));
    } catch {
      const position = positionOf(error, text);
      throw corrupt(
        { op, at: `character ${position} of ${text.length}` },
        text.slice(position, position + 20),
        "JSON; the file is cut off or damaged",
      );
    }
  }
}
