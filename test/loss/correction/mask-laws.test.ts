// What holds of every mask and ratio that compares two policies: the mask hides, padding and packing change nothing, rows are apart.
import {
  importanceRatio,
  offPolicyMask,
  offPolicyRowMask,
  rolloutRejectionMask,
  rolloutWeights,
  secondMomentMask,
  trustRegionMask,
} from "../../../lib";
import { eachBackend } from "../../support/each-backend";
import { rng } from "../../support/rng";

const [B, T] = [5, 7];

interface Tokens {
  readonly layout: { readonly shape: readonly [number, number] } | { readonly offsets: Int32Array };
  readonly mask: Uint8Array;
  readonly ours: Float64Array;
  readonly theirs: Float64Array;
  /** Per row. */
  readonly advantages: Float64Array;
}

const random = rng(17);
const ours = Float64Array.from(random.f32(B * T, -3, -0.2));
const given: Tokens = {
  layout: { shape: [B, T] },
  mask: random.mask(B * T, 0.7).fill(0, 2 * T, 3 * T),
  ours,
  theirs: ours.map((o, i) => o + 0.5 * Math.sin(2.3 * i)),
  advantages: Float64Array.of(1, -0.5, 2, -1, -2),
};

/** One number a token; those of rows are spread over the row. */
type Call = (of: Tokens, backend: "js") => ArrayLike<number>;

const spread = (values: ArrayLike<number>, { layout, mask }: Tokens): number[] =>
  Array.from(mask, (on, i) => {
    const row = "shape" in layout ? Math.floor(i / layout.shape[1]) : layout.offsets.findIndex((end) => end > i) - 1;
    return on === 0 ? 0 : values[row]!;
  });
const where = ({ layout, mask }: Tokens) => ({ ...layout, mask });

const near =
  (options: object): Call =>
  (of) =>
    offPolicyMask(of.ours, of.theirs, { ...where(of), advantages: of.advantages, ...options }).mask;
const CALLS: Readonly<Record<string, Call>> = {
  "tokens by their ratio": near({ low: 0.8, high: 1.2 }),
  "tokens by total variation, outward": near({ measure: "totalVariation", high: 0.2, drops: "outward" }),
  "tokens by binary KL": near({ measure: "binaryKl", high: 0.02 }),
  "tokens by their probability": near({ measure: "probability", low: -0.1, high: 0.1 }),
  "rows by k1, negative": near({ measure: "k1", level: "row", high: 0.01, drops: "negative" }),
  "rows by the sum of k3": near({ measure: "k3", level: "row", reduce: "sum", high: 0.3 }),
  "rows by their largest ratio": near({ level: "row", reduce: "max", high: 1.6 }),
  "off-policy rows": (of, backend) =>
    offPolicyRowMask(of.advantages, of.ours, of.theirs, { ...where(of), threshold: 0, backend }).mask.map((on, i) =>
      of.mask[i] === 0 ? 0 : on,
    ),
  "second moment": (of) => secondMomentMask(of.ours, of.theirs, { ...where(of), threshold: 0.06 }),
  "trust region": (of) =>
    trustRegionMask(of.ours, of.theirs, {
      ...where(of),
      advantages: of.advantages,
      measure: "probability",
      low: Float64Array.of(0.1, 0.02, 0.1, 0.02, 0.1),
      high: 0.05,
    }),
  rejection: (of, backend) =>
    rolloutRejectionMask(of.ours, of.theirs, { ...where(of), options: "token_k1", thresholds: "0.8_1.3", backend })
      .mask,
  "ratios of tokens": (of, backend) =>
    importanceRatio(of.ours, of.theirs, { ...where(of), level: "token", outside: "zero", high: 1.3, backend }).ratios,
  "ratios of rows": (of, backend) =>
    spread(importanceRatio(of.ours, of.theirs, { ...where(of), level: "geometric", backend }).ratios, of),
  weights: (of, backend) => rolloutWeights(of.ours, of.theirs, { ...where(of), level: "token", backend }).weights,
  "weights of rows": (of, backend) =>
    rolloutWeights(of.ours, of.theirs, { ...where(of), level: "sequence", batchNormalize: true, backend }).weights,
};

/** The tokens at `places` of the batch, −1 for padding. */
function taken(places: readonly number[], layout: Tokens["layout"], advantages = given.advantages): Tokens {
  const pick = (array: Float64Array): Float64Array => Float64Array.from(places, (i) => (i < 0 ? NaN : array[i]!));
  return {
    layout,
    mask: Uint8Array.from(places, (i) => (i < 0 ? 0 : given.mask[i]!)),
    ours: pick(given.ours),
    theirs: pick(given.theirs),
    advantages,
  };
}
const rowPlaces = (b: number): number[] => Array.from({ length: T }, (_, t) => b * T + t);
const rows = [0, 1, 2, 3, 4];

eachBackend((name) => {
  const backend = name as "js";
  test.each(Object.entries(CALLS))("%s", (title, call) => {
    const all = Array.from(call(given, backend));
    const kept = all.filter((_, i) => given.mask[i] !== 0);
    expect(new Set(kept).size).toBeGreaterThan(1);
    expect(all.filter((_, i) => given.mask[i] === 0)).toEqual(new Array(all.length - kept.length).fill(0));

    const poisoned = { ...given, theirs: given.theirs.map((u, i) => (given.mask[i] === 0 ? NaN : u)) };
    expect(Array.from(call(poisoned, backend))).toEqual(all);

    const padded = taken(
      rows.flatMap((b) => [...rowPlaces(b), -1, -1]),
      { shape: [B, T + 2] },
    );
    expect(Array.from(call(padded, backend)).filter((_, i) => i % (T + 2) < T)).toEqual(all);

    const places = rows.map((b) => rowPlaces(b).filter((i) => given.mask[i] !== 0));
    const offsets = Int32Array.from([0, ...places.map((_, b) => places.slice(0, b + 1).flat().length)]);
    expect(Array.from(call(taken(places.flat(), { offsets }), backend))).toEqual(kept);

    // Bounds per row stay where they are: rows 0, 2, 4 have one and rows 1, 3 the other.
    const order = [4, 1, 0, 3, 2];
    const turned = taken(
      order.flatMap(rowPlaces),
      { shape: [B, T] },
      Float64Array.from(order, (b) => given.advantages[b]!),
    );
    const got = Array.from(call(turned, backend));
    order.forEach((b, k) => {
      const want = all.slice(b * T, (b + 1) * T);
      // The mean that divides is added up in another order.
      expect(Float64Array.from(got.slice(k * T, (k + 1) * T))).toBeAllClose(want, {
        rtol: title === "weights of rows" ? 1e-14 : 0,
      });
    });
  });
});
