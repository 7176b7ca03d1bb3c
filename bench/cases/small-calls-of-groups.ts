// Small calls on groups of eight, on spans, and on a row of 64 logits.
import { groupNormalizeOracle } from "../../test/oracle/group";
import { CONVENTIONS } from "./group";
import { eachGroup, eights, every, floats, mask, mean, n, one, shape, type SmallCall, sum, x, y } from "./small-call";

const ones = { logProbs: floats(1), entropies: floats(1), logSumExps: floats(1), maxLogits: floats(1) };
const rows = { ...ones, log1pSums: floats(1), meanGaps: floats(1), sumSquares: floats(1) };
const target = Int32Array.of(3);
const tokens = Int32Array.from({ length: n }, (_, i) => i % 16);
/** Six tokens from each of the four starts: row, begin, finish. */
const spans = Int32Array.from(Array.from({ length: n / 16 }, (_, k) => [0, 16 * k + 1, 16 * k + 7]).flat());
const isInside = (i: number): boolean => i % 16 >= 1 && i % 16 < 7;
const sizes = Float32Array.from(x, Math.abs);
const softmax = (values: readonly number[]): number[] => {
  const all = sum(values.map(Math.exp));
  return values.map((value) => Math.exp(value) / all);
};

export const CALLS_OF_GROUPS: Readonly<Record<string, SmallCall>> = {
  groupNormalize: {
    kernel: "group",
    out: { normalized: floats(), means: floats(n / 8), stds: floats(n / 8), counts: new Int32Array(n / 8) },
    run: (lib, out) => lib.groupNormalize(x, { groupOffsets: eights, epsilon: 1e-6, out }),
    checked: "normalized",
    wanted: () =>
      groupNormalizeOracle(
        x,
        Array.from({ length: n / 8 }, (_, g) => Array.from({ length: 8 }, (__, k) => 8 * g + k)),
        CONVENTIONS,
      ).normalized,
  },
  groupSoftmax: {
    kernel: "group",
    out: { weights: floats() },
    run: (lib, out) => lib.groupSoftmax(x, { groupOffsets: eights, out }),
    checked: "weights",
    wanted: () => eachGroup([...x], softmax),
  },
  groupTilt: {
    kernel: "group",
    out: { weights: floats() },
    run: (lib, out) => lib.groupTilt(sizes, { groupOffsets: eights, out }),
    checked: "weights",
    wanted: () => eachGroup([...sizes], (group) => group.map((size) => size / sum(group))),
  },
  groupBroadcast: {
    kernel: "group",
    out: { tokens: floats() },
    run: (lib, out) => lib.groupBroadcast(one, { shape, mask, out }),
    checked: "tokens",
    wanted: () => every(() => 1),
  },
  findSpans: {
    kernel: "delim",
    out: {},
    run: (lib) => lib.findSpans(tokens, { shape, start: [0], end: [6] }),
    checked: "spans",
    wanted: () => spans,
  },
  spanMeans: {
    kernel: "delim",
    out: { means: new Float64Array(n / 16) },
    run: (lib, out) => lib.spanMeans(x, spans, { shape, out }),
    checked: "means",
    wanted: () => Array.from({ length: n / 16 }, (_, k) => mean([...x.subarray(16 * k + 1, 16 * k + 7)])),
  },
  spanMask: {
    kernel: "delim",
    out: { mask: new Uint8Array(n) },
    run: (lib, out) => lib.spanMask(spans, { shape, out }),
    checked: "mask",
    wanted: () => every((i) => (isInside(i) ? 1 : 0)),
  },
  logprob: {
    kernel: "logprob",
    out: rows,
    run: (lib, out) => lib.logprob(x, target, { shape, out }),
    checked: "logProbs",
    wanted: () => [x[3]! - Math.log(sum(every((i) => Math.exp(x[i]!))))],
  },
  topLogits: {
    kernel: "divergence",
    out: { ids: new Int32Array(4) },
    run: (lib, out) => lib.topLogits(x, 4, { shape, out: out["ids"] as Int32Array }),
    checked: "ids",
    wanted: () => {
      const least = x.toSorted().at(-4)!;
      return [...x.keys()].filter((i) => x[i]! >= least);
    },
  },
  divergence: {
    kernel: "divergence",
    out: { values: new Float64Array(1) },
    run: (lib, out) => lib.divergence(x, y, { shape, beta: 0, out: out["values"] as Float64Array }),
    checked: "values",
    wanted: () => {
      const [student, teacher] = [softmax([...x]), softmax([...y])];
      return [sum(teacher.map((q, i) => q * Math.log(q / student[i]!)))];
    },
  },
};
