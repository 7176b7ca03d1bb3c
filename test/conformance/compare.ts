// Compares what a mapping returned with the outputs of a golden case, output by output, by name.
import { compareNumbers, isNumberArray, type Tolerance } from "../support/close";
import { isGoldenArray, type GoldenArray, type GoldenCase, type GoldenRecord, type GoldenValue } from "./golden";
import type { DefinedFlags, Flags, Outputs } from "./mapping";

export interface Difference {
  /** The output, and the way to the value inside it. */
  readonly path: string;
  readonly message: string;
  /** Numeric differences only: how many of how many, and the worst of them. */
  readonly numbers?: {
    readonly mismatches: number;
    readonly compared: number;
    readonly index: number;
    readonly got: number;
    readonly want: number;
    readonly allowed: number;
  };
}

export interface Comparison {
  readonly differences: readonly Difference[];
  /** Elements left out because the specification does not define their value. */
  readonly maskedNotCompared: number;
}

/** Outputs that the mapping returns beyond the golden ones are not looked at. */
export function compareOutputs(got: Outputs, golden: GoldenCase, defined: DefinedFlags = {}): Comparison {
  const comparer = new Comparer({ rtol: golden.rtol, atol: golden.atol });
  for (const [name, want] of Object.entries(golden.outputs)) {
    if (golden.upstreamOnlyOutputs.includes(name)) continue;
    if (Object.hasOwn(got, name)) comparer.compare(name, got[name], want, defined[name]);
    else comparer.differ(name, "the mapping does not return it");
  }
  return comparer;
}

class Comparer implements Comparison {
  readonly differences: Difference[] = [];
  maskedNotCompared = 0;

  constructor(private readonly tolerance: Tolerance) {}

  differ(path: string, message: string): void {
    this.differences.push({ path, message });
  }

  compare(path: string, got: unknown, want: GoldenValue, defined?: Flags): void {
    if (isGoldenArray(want) && !flagLists(defined)) this.compareArray(path, got, want, defined);
    else if (Array.isArray(want) && (!defined || flagLists(defined)))
      this.compareList(path, got, want as readonly GoldenValue[], defined);
    else if (defined) this.differ(path, "has flags of defined elements, but is not an array");
    else if (typeof want === "object" && want !== null) this.compareRecord(path, got, want as GoldenRecord);
    else if (typeof want === "number" && typeof got === "number") this.compareValues(path, [got], [want]);
    else if (got !== want) this.differ(path, `got ${show(got)}, expected ${show(want)}`);
  }

  private compareArray(path: string, got: unknown, want: GoldenArray, defined?: ArrayLike<number>): void {
    const values = numbersOf(got);
    const shape = shapeOf(got);
    if (!values) return this.differ(path, `got ${show(got)}, expected numbers of shape [${want.shape.join(", ")}]`);
    if (shape && shape.join() !== want.shape.join()) {
      return this.differ(path, `shape is [${shape.join(", ")}], expected [${want.shape.join(", ")}]`);
    }
    if (values.length !== want.data.length) {
      return this.differ(
        path,
        `length is ${values.length}, expected ${want.data.length} (shape [${want.shape.join(", ")}])`,
      );
    }
    if (defined && defined.length !== want.data.length) {
      return this.differ(path, `${defined.length} flags of defined elements for ${want.data.length} elements`);
    }
    this.compareValues(path, values, want.data, defined);
  }

  private compareList(
    path: string,
    got: unknown,
    want: readonly GoldenValue[],
    defined?: readonly ArrayLike<number>[],
  ): void {
    const items: ArrayLike<unknown> | undefined = Array.isArray(got) ? got : numbersOf(got);
    if (!items) return this.differ(path, `got ${show(got)}, expected a list of ${want.length}`);
    if (items.length !== want.length) return this.differ(path, `length is ${items.length}, expected ${want.length}`);
    const numbers = numbersOf(got);
    if (numbers && want.every((item) => typeof item === "number")) return this.compareValues(path, numbers, want);
    if (defined && defined.length !== want.length)
      return this.differ(path, `flags for ${defined.length} arrays, expected for ${want.length}`);
    want.forEach((item, i) => this.compare(`${path}[${i}]`, items[i], item, defined?.[i]));
  }

  private compareRecord(path: string, got: unknown, want: GoldenRecord): void {
    if (typeof got !== "object" || got === null) return this.differ(path, `got ${show(got)}, expected an object`);
    const record = got as Record<string, unknown>;
    for (const [name, item] of Object.entries(want)) {
      const inside = `${path}[${JSON.stringify(name)}]`;
      if (Object.hasOwn(record, name)) this.compare(inside, record[name], item);
      else this.differ(inside, "the mapping does not return it");
    }
  }

  private compareValues(
    path: string,
    got: ArrayLike<number>,
    want: ArrayLike<number>,
    defined?: ArrayLike<number>,
  ): void {
    const { compared, mismatches, worst } = compareNumbers(
      got,
      want,
      this.tolerance,
      defined && ((index) => defined[index] !== 0),
    );
    this.maskedNotCompared += want.length - compared;
    if (!worst) return;
    const where = want.length === 1 ? "" : ` at [${worst.index}], ${mismatches} of ${compared} differ`;
    this.differences.push({
      path,
      message: `got ${worst.got}, expected ${worst.want} within ${worst.allowed}${where}`,
      numbers: { mismatches, compared, ...worst },
    });
  }
}

/** Flags for each array of a list, not for the elements of one. */
function flagLists(defined: Flags | undefined): defined is readonly ArrayLike<number>[] {
  return Array.isArray(defined) && defined.some((flags) => typeof flags !== "number");
}

/** The numbers of a typed array, a list of numbers, or `{data, shape}`. */
function numbersOf(value: unknown): ArrayLike<number> | undefined {
  if (isNumberArray(value)) return value;
  if (Array.isArray(value)) return value.every((item) => typeof item === "number") ? value : undefined;
  return hasData(value) ? numbersOf(value.data) : undefined;
}

function shapeOf(value: unknown): readonly unknown[] | undefined {
  return hasData(value) && Array.isArray(value.shape) ? (value.shape as readonly unknown[]) : undefined;
}

function hasData(value: unknown): value is { data: unknown; shape?: unknown } {
  return typeof value === "object" && value !== null && !ArrayBuffer.isView(value) && "data" in value;
}

function show(value: unknown): string {
  if (isNumberArray(value) || Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === "object" && value !== null) return "an object";
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}
