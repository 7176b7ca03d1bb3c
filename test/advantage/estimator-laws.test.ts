// What must hold for every estimator, on generated batches.
import fc from "fast-check";

import {
  gaeAdvantage,
  gpgAdvantage,
  grpoAdvantage,
  leaveOneOutAdvantage,
  opoAdvantage,
  optimalTokenBaselineAdvantage,
  passAtKAdvantage,
  reinforcePlusPlusAdvantage,
  reinforcePlusPlusBaselineAdvantage,
  remaxAdvantage,
} from "../../lib";
import { eachBackend } from "../support/each-backend";

/** One rollout: its kept tokens, with numbers for whatever an estimator reads. */
interface Row {
  readonly tokens: readonly (readonly [reward: number, value: number, logProb: number, sumSquares: number])[];
  readonly group: number;
  readonly baseline: number;
}

const share = fc.integer({ min: 0, max: 64 }).map((k) => k / 64);
const row: fc.Arbitrary<Row> = fc.record({
  tokens: fc.array(
    fc.tuple(share, share, share.map((x) => -4 * x - 0.1), share),
    { maxLength: 6 },
  ),
  group: fc.integer({ min: 0, max: 2 }),
  baseline: share,
});
const rows = fc.array(row, { minLength: 1, maxLength: 7 });

interface Layout {
  readonly shape?: readonly [number, number];
  readonly offsets?: Int32Array;
  readonly mask?: Uint8Array;
}

/** A batch, and where each row's tokens lie in its arrays. */
function padded(list: readonly Row[], width: number, poison = 0, label = (group: number): number => 7 * group - 3) {
  const shape = [list.length, width] as const;
  const pick = (k: 0 | 1 | 2 | 3) =>
    Float64Array.from({ length: list.length * width }, (_, i) => list[Math.floor(i / width)]!.tokens[i % width]?.[k] ?? poison);
  const mask = Uint8Array.from({ length: list.length * width }, (_, i) => (i % width < list[Math.floor(i / width)]!.tokens.length ? 1 : 0));
  return batchOf(list, { shape, mask }, pick, label);
}

function packed(list: readonly Row[]) {
  const offsets = new Int32Array(list.length + 1);
  list.forEach(({ tokens }, b) => (offsets[b + 1] = offsets[b]! + tokens.length));
  const all = list.flatMap(({ tokens }) => tokens);
  return batchOf(list, { offsets }, (k) => Float64Array.from(all, (token) => token[k]), (group) => group);
}

function batchOf(list: readonly Row[], layout: Layout, pick: (k: 0 | 1 | 2 | 3) => Float64Array, label: (group: number) => number) {
  return {
    ...layout,
    groups: list.map(({ group }) => label(group)),
    tokenLevelRewards: pick(0),
    values: pick(1),
    logProbs: pick(2),
    sumSquares: pick(3),
    baselines: Float64Array.from(list, ({ baseline }) => baseline),
  };
}

type Batch = ReturnType<typeof batchOf>;

eachBackend((backend) => {
  const kept = { scoreOver: "kept", backend } as const;
  const estimators: Readonly<Record<string, (batch: Batch) => Float32Array | Float64Array>> = {
    gae: (batch) => gaeAdvantage(batch, { gamma: 0.9, lambda: 0.8, backend }).advantages,
    grpo: (batch) => grpoAdvantage(batch, kept).advantages,
    leaveOneOut: (batch) => leaveOneOutAdvantage(batch, kept).advantages,
    passAtK: (batch) => passAtKAdvantage(batch, kept).advantages,
    reinforcePlusPlus: (batch) => reinforcePlusPlusAdvantage(batch, { gamma: 0.9, backend }).advantages,
    reinforcePlusPlusBaseline: (batch) => reinforcePlusPlusBaselineAdvantage(batch, kept).advantages,
    remax: (batch) => remaxAdvantage(batch, { backend }).advantages,
    opo: (batch) => opoAdvantage(batch, kept).advantages,
    gpg: (batch) => gpgAdvantage(batch, kept).advantages,
    optimalTokenBaseline: (batch) => optimalTokenBaselineAdvantage(batch, { backend }).advantages,
    optimalTokenBaselineKept: (batch) => optimalTokenBaselineAdvantage(batch, { columns: "kept", backend }).advantages,
  };
  // The emulated device starts a fiber a thread: it sees fewer batches.
  const runs = { numRuns: backend === "emulated" ? 8 : 25 };
  const lengthsOf = (list: readonly Row[]) => list.map(({ tokens }) => tokens.length);
  /** The kept tokens of a padded result, row after row. */
  const keptOf = (values: ArrayLike<number>, list: readonly Row[], width: number): number[][] =>
    lengthsOf(list).map((length, b) => Array.from({ length }, (_, t) => values[b * width + t]!));

  describe.each(Object.entries(estimators))("%s", (_, estimate) => {
    test("what lies under the mask changes no bit", () => {
      fc.assert(
        fc.property(rows, (list) => {
          expect(estimate(padded(list, 8, NaN))).toEqual(estimate(padded(list, 8)));
        }),
        runs,
      );
    });

    test("more padding behind the rows changes no kept bit", () => {
      fc.assert(
        fc.property(rows, (list) => {
          expect(keptOf(estimate(padded(list, 15)), list, 15)).toEqual(keptOf(estimate(padded(list, 6)), list, 6));
        }),
        runs,
      );
    });

    test("ragged rows equal padded ones", () => {
      fc.assert(
        fc.property(rows, (list) => {
          expect([...estimate(packed(list))]).toEqual(keptOf(estimate(padded(list, 9)), list, 9).flat());
        }),
        runs,
      );
    });

    test("relabelling the groups changes nothing", () => {
      fc.assert(
        fc.property(rows, (list) => {
          expect(estimate(padded(list, 6, 0, (group) => [90, -5, 11][group]!))).toEqual(estimate(padded(list, 6)));
        }),
        runs,
      );
    });

    // Sums over another order of rows: a few roundings of float64.
    test("permuting the rows permutes the results", () => {
      const shuffled = rows.chain((list) => fc.tuple(fc.constant(list), fc.shuffledSubarray(list.map((_, i) => i), { minLength: list.length })));
      fc.assert(
        fc.property(shuffled, ([list, order]) => {
          const plain = keptOf(estimate(padded(list, 6)), list, 6);
          const permuted = order.map((b) => list[b]!);
          expect(keptOf(estimate(padded(permuted, 6)), permuted, 6).flat()).toBeAllClose(order.flatMap((b) => plain[b]!), {
            atol: 1e-9,
            rtol: 1e-9,
          });
        }),
        runs,
      );
    });
  });

  test.each(["grpo", "leaveOneOut", "passAtK", "reinforcePlusPlusBaseline", "opo", "gpg"])(
    "a batch of constant groups has exact zeros: %s",
    (name) => {
      fc.assert(
        fc.property(rows, share, (list, score) => {
          const same = list.map(({ group, baseline, tokens }) => ({
            group,
            baseline,
            tokens: tokens.map(([, ...rest], t) => [t === 0 ? score + 0.97 : 0, ...rest] as const),
          }));
          // A row without tokens has score 0 and would make its group unequal.
          const full = same.filter(({ tokens }) => tokens.length > 0);
          expect(estimators[name]!(padded(full, 6)).every((a) => a === 0)).toBe(true);
        }),
        runs,
      );
    },
  );
});
