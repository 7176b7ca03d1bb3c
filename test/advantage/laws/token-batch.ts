// Batches of tokens for laws: rows of different lengths with holes in the mask, in every layout that says the same.
import { rng } from "../../support/rng";

export interface TokenBatch {
  readonly layout: { readonly shape: readonly [number, number] } | { readonly offsets: Int32Array };
  readonly rows: number;
  /** One number per row, likewise the next ones. */
  readonly rewards: Float64Array;
  readonly baselines: Float64Array;
  readonly groups: readonly string[];
  /** Tokens of the row, padding left out. */
  readonly lengths: Int32Array;
  readonly mask: Uint8Array;
  /** Small ids, so that each occurs often; 0 in padding. */
  readonly ids: Int32Array;
  /** Numbers per token, by name; 0 in padding. */
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

/** `"ragged"` rows with holes; `"full"`: neither padding nor holes; `"behind"`: ragged, with a masked position at each end. */
export type CaseForm = "ragged" | "full" | "behind";

export function tokenCase(seed: number, rows: number, width: number, form: CaseForm = "ragged"): TokenCase {
  const r = rng(seed);
  const lengths = r.i32(rows, { ragged: 0, full: width, behind: 1 }[form], width + 1);
  const n = rows * width;
  const within = (i: number, less = 0): boolean => i % width < lengths[Math.floor(i / width)]! - less;
  const mask = r.mask(n, form === "full" ? 1 : 0.8).map((kept, i) => (within(i, form === "behind" ? 1 : 0) ? kept : 0));
  const draw = (): Float64Array => r.f64(n, -1, 1).map((x, i) => (within(i) ? x : 0));
  return {
    rows,
    lengths: [...lengths],
    width,
    padded: {
      layout: { shape: [rows, width] },
      rows,
      rewards: r.f64(rows, -1, 1),
      baselines: r.f64(rows, -1, 1),
      groups: Array.from(r.i32(rows, 0, 3), String),
      lengths,
      mask,
      ids: r.i32(n, 0, 6).map((id, i) => (within(i) ? id : 0)),
      tokens: { a: draw(), b: draw(), c: draw() },
    },
  };
}

/** The rows of `order`, laid out as `place` says, b counting in that order. */
function relaid(
  given: TokenCase,
  order: readonly number[],
  layout: TokenBatch["layout"],
  length: number,
  place: Place,
): TokenBatch {
  const { padded, width } = given;
  const moved = <A extends Uint8Array | Int32Array | Float64Array>(source: A, target: A): A => {
    order.forEach((row, b) => {
      for (let t = 0; t < width; ++t) {
        const at = place(b, t);
        if (at !== undefined) target[at] = source[row * width + t]!;
      }
    });
    return target;
  };
  const floats = (source: Float64Array): Float64Array => moved(source, new Float64Array(length));
  return {
    layout,
    rows: order.length,
    rewards: Float64Array.from(order, (b) => padded.rewards[b]!),
    baselines: Float64Array.from(order, (b) => padded.baselines[b]!),
    groups: order.map((b) => padded.groups[b]!),
    lengths: Int32Array.from(order, (b) => padded.lengths[b]!),
    mask: moved(padded.mask, new Uint8Array(length)),
    ids: moved(padded.ids, new Int32Array(length)),
    tokens: { a: floats(padded.tokens.a), b: floats(padded.tokens.b), c: floats(padded.tokens.c) },
  };
}

const everyRow = ({ rows }: TokenCase): number[] => Array.from({ length: rows }, (_, b) => b);

/** The rows one behind the other, without their padding. */
export function packed(given: TokenCase): { batch: TokenBatch; place: Place } {
  const offsets = new Int32Array(given.rows + 1);
  given.lengths.forEach((length, b) => {
    offsets[b + 1] = offsets[b]! + length;
  });
  const place: Place = (b, t) => (t < given.lengths[b]! ? offsets[b]! + t : undefined);
  return { batch: relaid(given, everyRow(given), { offsets }, offsets[given.rows]!, place), place };
}

/** More columns of padding. */
export function widened(given: TokenCase, extra: number): { batch: TokenBatch; place: Place } {
  const width = given.width + extra;
  const place: Place = (b, t) => b * width + t;
  return { batch: relaid(given, everyRow(given), { shape: [given.rows, width] }, given.rows * width, place), place };
}

/** The rows in reverse order. */
export function reversed(given: TokenCase): { batch: TokenBatch; place: Place } {
  const { rows, width } = given;
  const batch = subset(given, everyRow(given).reverse());
  return { batch, place: (b, t) => (rows - 1 - b) * width + t };
}

/** Some of the rows. */
export function subset(given: TokenCase, order: readonly number[]): TokenBatch {
  const { width } = given;
  return relaid(given, order, { shape: [order.length, width] }, order.length * width, (b, t) => b * width + t);
}

/** What a poisoned batch leaves as it was: the holes, the position after the last kept one of each row, or the ids. */
export type Spared = "holes" | "after" | "ids";

/** NaN, and other ids, wherever the mask is 0. */
export function poisoned({ padded, width, lengths }: TokenCase, spare?: Spared): TokenBatch {
  const last = lengths.map((_, b) => padded.mask.subarray(b * width, (b + 1) * width).lastIndexOf(1));
  const hit = padded.mask.map((kept, i) => {
    const [b, t] = [Math.floor(i / width), i % width];
    const spared = spare === "holes" ? t < lengths[b]! : spare === "after" && t === last[b]! + 1;
    return kept === 0 && !spared ? 1 : 0;
  });
  const poison = (source: Float64Array): Float64Array => source.map((x, i) => (hit[i] !== 0 ? NaN : x));
  const { a, b, c } = padded.tokens;
  return {
    ...padded,
    ids: padded.ids.map((id, i) => (hit[i] !== 0 && spare !== "ids" ? (id + 1) % 6 : id)),
    tokens: { a: poison(a), b: poison(b), c: poison(c) },
  };
}

/**
 * Rows of at least one kept token in groups of two or more, that all come to the same: the reward, which lies on the last kept
 * token, is the baseline, too; all other numbers are 0.
 */
export function constant(given: TokenCase, reward: number): TokenBatch {
  const { padded, rows, width } = given;
  const mask = padded.mask.map((kept, i) => (i % width === 0 ? 1 : kept));
  const a = new Float64Array(rows * width);
  for (let b = 0; b < rows; ++b) a[b * width + mask.subarray(b * width, (b + 1) * width).lastIndexOf(1)] = reward;
  return {
    ...padded,
    mask,
    lengths: padded.lengths.map((length) => Math.max(length, 1)),
    rewards: new Float64Array(rows).fill(reward),
    baselines: new Float64Array(rows).fill(reward),
    groups: padded.groups.map((_, b) => (rows > 3 && b < 2 ? "first" : "second")),
    tokens: { a, b: new Float64Array(rows * width), c: new Float64Array(rows * width) },
  };
}

/** Numbers of another layout, where the padded one has them; 0 where that layout has no position. */
export function back(given: TokenCase, values: ArrayLike<number>, place: Place): number[] {
  return Array.from({ length: given.rows * given.width }, (_, i) => {
    const at = place(Math.floor(i / given.width), i % given.width);
    return at === undefined ? 0 : values[at]!;
  });
}
