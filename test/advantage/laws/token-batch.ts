// Batches of tokens for laws: rows of different lengths with holes in the mask, in every layout that says the same.
import { rng } from "../../support/rng";

export interface TokenBatch {
  readonly layout: { readonly shape: readonly [number, number] } | { readonly offsets: Int32Array };
  readonly rows: number;
  /** One number per row. */
  readonly rewards: Float64Array;
  readonly mask: Uint8Array;
  /** Numbers per token, by name. */
  readonly tokens: Readonly<Record<"a" | "b" | "c", Float64Array>>;
}

/** Position of row b, column t in each layout; undefined where the layout has no such position. */
type Place = (b: number, t: number) => number | undefined;

export interface TokenCase {
  readonly rows: number;
  readonly lengths: readonly number[];
  readonly width: number;
  /** Padded to `width` columns. */
  readonly padded: TokenBatch;
}

export function tokenCase(seed: number, rows: number, width: number): TokenCase {
  const r = rng(seed);
  const lengths = Array.from(r.i32(rows, 0, width + 1));
  const n = rows * width;
  const mask = r.mask(n, 0.8).map((kept, i) => (i % width < lengths[Math.floor(i / width)]! ? kept : 0));
  const draw = (): Float64Array => r.f64(n, -1, 1);
  return {
    rows,
    lengths,
    width,
    padded: { layout: { shape: [rows, width] }, rows, rewards: r.f64(rows, -1, 1), mask, tokens: { a: draw(), b: draw(), c: draw() } },
  };
}

function moved<A extends Uint8Array | Float64Array>(source: A, target: A, { rows, width }: TokenCase, place: Place): A {
  for (let b = 0; b < rows; ++b)
    for (let t = 0; t < width; ++t) {
      const at = place(b, t);
      if (at !== undefined) target[at] = source[b * width + t]!;
    }
  return target;
}

function relaid(given: TokenCase, layout: TokenBatch["layout"], length: number, place: Place, rewards?: Float64Array): TokenBatch {
  const { padded } = given;
  const floats = (source: Float64Array): Float64Array => moved(source, new Float64Array(length), given, place);
  return {
    layout,
    rows: given.rows,
    rewards: rewards ?? padded.rewards,
    mask: moved(padded.mask, new Uint8Array(length), given, place),
    tokens: { a: floats(padded.tokens.a), b: floats(padded.tokens.b), c: floats(padded.tokens.c) },
  };
}

/** The rows one behind the other, without their padding. */
export function packed(given: TokenCase): { batch: TokenBatch; place: Place } {
  const offsets = new Int32Array(given.rows + 1);
  given.lengths.forEach((length, b) => {
    offsets[b + 1] = offsets[b]! + length;
  });
  const place: Place = (b, t) => (t < given.lengths[b]! ? offsets[b]! + t : undefined);
  return { batch: relaid(given, { offsets }, offsets[given.rows]!, place), place };
}

/** More columns of padding. */
export function widened(given: TokenCase, extra: number): { batch: TokenBatch; place: Place } {
  const width = given.width + extra;
  const place: Place = (b, t) => b * width + t;
  return { batch: relaid(given, { shape: [given.rows, width] }, given.rows * width, place), place };
}

/** The rows in reverse order. */
export function reversed(given: TokenCase): { batch: TokenBatch; place: Place } {
  const place: Place = (b, t) => (given.rows - 1 - b) * given.width + t;
  const rewards = given.padded.rewards.slice().reverse();
  return { batch: relaid(given, given.padded.layout, given.rows * given.width, place, rewards), place };
}

/** NaN wherever the mask is 0. */
export function poisoned({ padded }: TokenCase): TokenBatch {
  const poison = (source: Float64Array): Float64Array => source.map((x, i) => (padded.mask[i] !== 0 ? x : NaN));
  const { a, b, c } = padded.tokens;
  return { ...padded, tokens: { a: poison(a), b: poison(b), c: poison(c) } };
}

/** Numbers of another layout, where the padded one has them; 0 where that layout has no position. */
export function back(given: TokenCase, values: ArrayLike<number>, place: Place): number[] {
  return Array.from({ length: given.rows * given.width }, (_, i) => {
    const at = place(Math.floor(i / given.width), i % given.width);
    return at === undefined ? 0 : values[at]!;
  });
}
