// Bounded importance ratios by definition, under each framework's name.
import { importanceRatio, type ImportanceRatioOptions } from "../../../lib";
import { mean, statistics, sum } from "../../oracle/correction";
import { eachBackend } from "../../support/each-backend";
import { errorCode } from "../../support/error-code";
import { batchOf, placed } from "./batch";

const CLOSE = { rtol: 1e-13, atol: 0 };
const low = 0.8;
const high = 1.3;

eachBackend((backend) => {
  const { oldLogProbs, samplerLogProbs, mask, rows, shape } = batchOf(4);
  const ratio = (options: Omit<ImportanceRatioOptions, "shape">) =>
    importanceRatio(oldLogProbs, samplerLogProbs, { shape, mask, backend, ...options });
  const tokens = rows.flatMap((row) => statistics("ratio", row));
  const cut = (x: number): number => (x >= low && x <= high ? x : 0);
  const clamp = (x: number): number => Math.min(Math.max(x, low), high);

  test("tis clamps, icepop cuts off; masked tokens are 0", () => {
    expect(ratio({ mode: "openrlhf/tis", low, high }).ratios).toBeAllClose(placed(tokens.map(clamp), mask), CLOSE);
    const icepop = ratio({ mode: "openrlhf/icepop", low, high });
    expect(icepop.ratios).toBeAllClose(placed(tokens.map(cut), mask), CLOSE);
    expect(Array.from(icepop.kept)).toEqual(Array.from(icepop.ratios, (x) => Number(x > 0)));
  });

  test("seq-mask-tis keeps the ratios of rows whose geometric mean lies within, whatever they are", () => {
    const bounds = { low: 0.95, high: 1.1 };
    const keep = rows.map((row) => {
      const geometric = Math.exp(-mean(statistics("k1", row)));
      return geometric >= bounds.low && geometric <= bounds.high;
    });
    expect(new Set(keep).size).toBe(2); // some stay, some go
    const want = rows.flatMap((row, b) => statistics("ratio", row).map((x) => (keep[b] ? x : 0)));
    const got = ratio({ mode: "openrlhf/seq-mask-tis", ...bounds });
    expect(got.ratios).toBeAllClose(placed(want, mask), CLOSE);
    expect(Math.max(...got.ratios)).toBeGreaterThan(bounds.high);
  });

  test("the four modes of TRL: masked tokens have ratio 1, rows without tokens too; 3 is the bound by default", () => {
    const padded = (f: (x: number) => number): number[] => placed(tokens.map(f), mask).map((x, i) => (mask[i] ? x : 1));
    expect(ratio({ mode: "trl/token_truncate", low, high }).ratios).toBeAllClose(padded(clamp), CLOSE);
    expect(ratio({ mode: "trl/token_mask", low, high }).ratios).toBeAllClose(padded(cut), CLOSE);
    const perRow = rows.map((row) => Math.exp(-sum(statistics("k1", row))));
    expect(perRow[2]).toBe(1);
    expect(ratio({ mode: "trl/sequence_truncate", low, high }).ratios).toBeAllClose(perRow.map(clamp), CLOSE);
    const masked = ratio({ mode: "trl/sequence_mask", low, high });
    expect(masked.ratios).toBeAllClose(perRow.map(cut), CLOSE);
    expect(Array.from(masked.kept)).toEqual(perRow.map((x) => Number(x >= low && x <= high)));
    const far = importanceRatio(Float64Array.of(0, 0), Float64Array.of(-1, -5), {
      shape: [2, 1],
      mode: "trl/sequence_mask",
      backend,
    });
    expect(far.ratios).toBeAllClose([Math.E, 0], CLOSE);
    expect(ratio({ mode: "trl/token_mask", low: 1.1, high: 3 }).ratios[mask.indexOf(0)]).toBe(0); // 1 is outside
  });

  test("geometric: exp of the row's mean, bounded; logClamp holds each token's log ratio", () => {
    const perRow = rows.map((row) => (statistics("k1", row).length > 0 ? Math.exp(-mean(statistics("k1", row))) : 1));
    expect(ratio({ level: "geometric" }).ratios).toBeAllClose(perRow, CLOSE);
    expect(ratio({ level: "geometric", low, high }).ratios).toBeAllClose(perRow.map(clamp), CLOSE);
    const far = { shape: [1, 2], logClamp: 2, backend } as const;
    const [o, u] = [Float64Array.of(-1, -1), Float64Array.of(-9, -1.5)];
    expect(importanceRatio(o, u, { ...far, level: "token" }).ratios).toBeAllClose([2, 0.5].map(Math.exp), CLOSE);
    expect(importanceRatio(o, u, { ...far, level: "sequence" }).ratios).toBeAllClose([Math.exp(2.5)], CLOSE);
    expect(importanceRatio(o, u, { ...far, level: "geometric" }).ratios).toBeAllClose([Math.exp(1.25)], CLOSE);
  });

  test("batchNormalize divides the bounded ratios by their mean: of tokens, or of rows that have some", () => {
    const token = ratio({ mode: "openrlhf/tis", high, batchNormalize: true }).ratios;
    const bounded = tokens.map((x) => Math.min(x, high));
    expect(token).toBeAllClose(
      placed(
        bounded.map((x) => x / mean(bounded)),
        mask,
      ),
      CLOSE,
    );
    const byRow = ratio({ level: "geometric", high, batchNormalize: true }).ratios;
    const held = rows.map((row) =>
      statistics("k1", row).length > 0 ? Math.min(Math.exp(-mean(statistics("k1", row))), high) : 1,
    );
    const live = held.filter((_, b) => statistics("k1", rows[b]!).length > 0);
    expect(byRow).toBeAllClose(
      held.map((x) => x / mean(live)),
      CLOSE,
    );
    const nothing = { shape: [1, 1], mask: Uint8Array.of(0), level: "token", batchNormalize: true, backend } as const;
    expect(importanceRatio(Float64Array.of(0), Float64Array.of(0), nothing).ratios).toEqual(Float64Array.of(0));
  });

  test("a ratio at a bound is inside", () => {
    const call = (bounds: object) =>
      importanceRatio(new Float64Array(1), new Float64Array(1), {
        shape: [1, 1],
        level: "token",
        outside: "zero",
        ...bounds,
        backend,
      }).ratios[0];
    expect([call({ low: 1 }), call({ high: 1 }), call({ low: 1 + 2 ** -52 }), call({ high: 1 - 2 ** -53 })]).toEqual([
      1, 1, 0, 0,
    ]);
  });

  test("a NaN stays one; what lies under the mask is not read; packed equals padded", () => {
    for (const mode of ["trl/token_mask", "openrlhf/tis", "openrlhf/seq-mask-tis", "trl/sequence_mask"] as const) {
      const want = ratio({ mode, low, high });
      const poisoned = oldLogProbs.map((x, i) => (mask[i] ? x : NaN));
      expect(importanceRatio(poisoned, samplerLogProbs, { shape, mask, mode, low, high, backend })).toEqual(want);
      const offsets = Int32Array.from({ length: 7 }, (_, b) => 9 * b);
      expect(importanceRatio(poisoned, samplerLogProbs, { offsets, mask, mode, low, high, backend })).toEqual(want);
      const nan = importanceRatio(Float32Array.of(NaN), Float32Array.of(-1), {
        shape: [1, 1],
        mode,
        low,
        high,
        backend,
      });
      expect([nan.ratios[0], nan.kept[0]]).toEqual([NaN, 0]);
    }
    const none = new Float32Array(0);
    expect(importanceRatio(none, none, { shape: [0, 2], mode: "openrlhf/tis", backend }).ratios).toEqual(
      new Float32Array(0),
    );
  });
});

test("bad input", () => {
  const two = new Float32Array(2);
  const call = (options: object): string | undefined =>
    errorCode(() => importanceRatio(two, two, { shape: [1, 2], ...options }));
  const bad = [
    {},
    { level: "group" },
    { mode: "trl/none" },
    { level: "token", outside: "drop" },
    { level: "token", low: 2, high: 1 },
    { level: "token", low: -1 },
    { level: "token", high: NaN },
    { level: "token", maskedRatio: 0.5 },
    { level: "sequence", boundsOf: "rowMean", outside: "zero" },
    { level: "token", boundsOf: "rowMean" },
  ];
  for (const options of bad) expect(call(options)).toBe("ERR_SURPRISAL_OPTION");
  expect(call({ level: "token", mask: new Uint8Array(3) })).toBe("ERR_SURPRISAL_SHAPE");
});
