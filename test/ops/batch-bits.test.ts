// A row's bits, or a group's, are its own: the others of the batch decide who adds it up on a device, and in how many pieces,
// but never what comes out.
import { clippedObjective, groupNormalize, groupSoftmax, logRatio, rowLoss, tokenLoss } from "../../lib";
import { eachBackend } from "../support/each-backend";
import { rng } from "../support/rng";

const LONG = 9001; // tokens: more than a block takes at a time
const SHORT = 7; // so many and so short that a row is a warp's, on average
const SHORTS = 40;

/** The rows' lengths, the long one somewhere in between, and what it is to be compared with. */
const LENGTHS = [
  ...Array.from({ length: SHORTS / 2 }, () => SHORT),
  LONG,
  ...Array.from({ length: SHORTS / 2 }, () => SHORT),
];
const OFFSETS = Int32Array.from([
  0,
  ...LENGTHS.map((_, b) => LENGTHS.slice(0, b + 1).reduce((sum, length) => sum + length, 0)),
]);
const ROW = SHORTS / 2;
const BEGIN = OFFSETS[ROW]!; // 140
const n = OFFSETS[LENGTHS.length]!;

const r = rng(31);
const old = r.f32(n, -3, 0);
const current = old.map((value) => value + (r.uniform() - 0.5));
const reference = old.map((value) => value + 0.2 * (r.uniform() - 0.5));
const advantages = r.f32(n, -2, 2);
const mask = r.mask(n, 0.8);
const row = <A extends Float32Array | Uint8Array>(array: A): A => array.slice(BEGIN, BEGIN + LONG) as A;
const rowAdvantages = r.f32(LENGTHS.length, -2, 2);
const rowWeights = r.f64(LENGTHS.length, 0.1, 1);
const rowAdvantage = rowAdvantages.slice(ROW, ROW + 1);

eachBackend((backend) => {
  test.each(["token", "sequence", "group"] as const)("clipped objective, %s level", (level) => {
    const groups = level === "group" ? { groups: LENGTHS.map((_, b) => b) } : {};
    const options = { level, clipLow: 0.2, clipHigh: 0.2, backend } as const;
    const together = clippedObjective(current, old, rowAdvantages, {
      ...options,
      ...groups,
      offsets: OFFSETS,
      mask,
      rowWeights,
    });
    const alone = clippedObjective(row(current), row(old), rowAdvantage, {
      ...options,
      ...(level === "group" && { groups: [0] }),
      offsets: Int32Array.of(0, LONG),
      mask: row(mask),
      rowWeights: rowWeights.slice(ROW, ROW + 1),
    });
    expect(row(together.gradLogProbs as Float32Array)).toEqual(alone.gradLogProbs);
    expect(together.objectives[ROW]).toBe(alone.objectives[0]);
  });

  test("log ratio of a sequence", () => {
    const options = { level: "sequence", backend } as const;
    const together = logRatio(current, old, { ...options, offsets: OFFSETS, mask });
    const alone = logRatio(row(current), row(old), { ...options, offsets: Int32Array.of(0, LONG), mask: row(mask) });
    expect(together.logRatios[ROW]).toBe(alone.logRatios[0]);
  });

  test.each(["token", "row", "row, each token its own gradient"] as const)("loss of a %s", (kind) => {
    const settings = { advantagesPer: "token", outputs: ["gradLogProbs", "losses"], backend } as const;
    const whole = {
      logProbs: current,
      oldLogProbs: old,
      advantages,
      mask,
      rowWeights,
      offsets: OFFSETS,
      kl: { referenceLogProbs: reference, kind: "k3", coefficient: 0.1 },
    } as const;
    const single = {
      logProbs: row(current),
      oldLogProbs: row(old),
      advantages: row(advantages),
      mask: row(mask),
      rowWeights: rowWeights.slice(ROW, ROW + 1),
      offsets: Int32Array.of(0, LONG),
      kl: { ...whole.kl, referenceLogProbs: row(reference) },
    } as const;
    const band = { clipLow: 0.2, clipHigh: 0.2 };
    const loss = (arrays: typeof whole | typeof single) =>
      kind === "token"
        ? tokenLoss({ form: "clip", ...band, ...settings, ...arrays })
        : rowLoss({ form: kind === "row" ? "clip" : "clipLocal", ...band, ...settings, ...arrays });
    const together = loss(whole);
    const alone = loss(single);
    expect(row(together.gradLogProbs as Float32Array)).toEqual(alone.gradLogProbs);
    expect(row(together.losses as Float32Array)).toEqual(alone.losses);
    for (const [name, figures] of Object.entries(alone.rowFigures))
      expect([name, together.rowFigures[name as keyof typeof alone.rowFigures][ROW]]).toEqual([name, figures[0]]);
  });

  // Groups of one size between groups of another: lanes of a warp, a warp, and a block take turns.
  test.each([
    [5, 600],
    [60, 5],
    [60, 600],
    [300, 5],
    [700, 5],
  ])("a group of %i items between such of %i", (size, others) => {
    const labels = [0, 1, 2, 3, 4, 5].flatMap((group) =>
      Array.from({ length: group === 2 ? size : others }, () => group),
    );
    const values = rng(size).f32(labels.length, -1, 1);
    const own = values.slice(2 * others, 2 * others + size);
    const cut = (array: ArrayLike<number>) => Array.from(array).slice(2 * others, 2 * others + size);
    const together = groupNormalize(values, { groups: labels, backend });
    const alone = groupNormalize(own, { groups: Array.from(own, () => 0), backend });
    expect(cut(together.normalized)).toEqual(Array.from(alone.normalized));
    expect(together.stds[2]).toBe(alone.stds[0]);
    expect(cut(groupSoftmax(values, { groups: labels, backend }))).toEqual(
      Array.from(groupSoftmax(own, { groups: Array.from(own, () => 0), backend })),
    );
  });
});
