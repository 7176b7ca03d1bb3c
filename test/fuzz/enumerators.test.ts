// What the headers list (native/include/surprisal) is all that there is: an op refuses the number behind the last of a list, and what is
// neither yes nor no. The public functions have words in their place, so the arguments are taken from them on their way down.
import { backendInfo } from "../../lib";
import { selectBackend } from "../../lib/backend/select";
import { outcomeOf } from "./agree";
import { CALLS } from "./calls";
import { fresh } from "./draw";

/** The last of each list, by op. */
const LAST: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  correctionBound: { statistic: 7, outside: 1 },
  correctionMeasure: { statistic: 7 },
  delimSpans: { overlapping: 1, includeEnd: 2, unterminatedKeep: 1, startsOpen: 1 },
  divergenceRows: { outside: 1 },
  groupEntropy: { normalize: 1 },
  groupNormalize: { center: 3, scale: 4, singleton: 2, nanPolicy: 1 },
  groupWeigh: { form: 1 },
  linearForward: { sums: 2 },
  lossLogits: { form: 7 },
  lossRow: { reduce: 1 },
  lossToken: { form: 7, reduce: 1 },
  modulateSpans: { scope: 2 },
  modulateRows: { form: 1, nonFinite: 2 },
  ratioLog: { level: 2, reduce: 1 },
  reduceAffine: { transformMasked: 1 },
  reduceClamp: { transformMasked: 1 },
  reduceGamma: { allFactors: 1 },
  reduceMoments: { nanPolicy: 1 },
  reduceWhiten: { over: 2, center: 1, scale: 1, keepMean: 1, nanPolicy: 1, transformMasked: 1 },
  scanGae: { maskMode: 2, transformMasked: 1 },
  scanPrefix: { exclusive: 1 },
  scanReturns: { maskMode: 2, transformMasked: 1 },
  scanTail: { maskMode: 1, normalize: 1 },
  scanVtrace: { maskMode: 2, delta: 1 },
  selectCovariance: { mode: 1 },
};
const SEEDS = 8;

const { available, reason } = backendInfo().backends.find(({ name }) => name === "cpu")!;
if (!available) test.skip(`lists are not tried: cpu is not available: ${reason}`, () => undefined);
else {
  const ops = selectBackend("test", "cpu").ops as unknown as Record<string, (args: object) => void>;
  const own = { ...ops };
  const taken = new Map<string, object[]>();

  beforeAll(() => {
    for (const [name, op] of Object.entries(own))
      ops[name] = (args) => {
        op(args);
        taken.set(name, [...(taken.get(name) ?? []), args]);
      };
    for (const make of Object.values(CALLS))
      for (let seed = 1; seed <= SEEDS; ++seed) outcomeOf(() => make(fresh(seed)).run("cpu"));
  });
  afterAll(() => Object.assign(ops, own));

  test.each(
    Object.entries(LAST).flatMap(([op, lists]) => Object.entries(lists).map(([name, last]) => [op, name, last])),
  )("%s: %s is %i at most", (op, name, last) => {
    const calls = taken.get(op as string) ?? [];
    expect(calls.length).toBeGreaterThan(0);
    for (const args of calls) {
      own[op as string]!(args);
      expect(args).toHaveProperty([name as string]);
      for (const wrong of [-1, (last as number) + 1])
        expect(() => own[op as string]!({ ...args, [name as string]: wrong })).toThrow(` is ${wrong}`);
    }
  });
}
