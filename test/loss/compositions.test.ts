// Losses by composition against their formulas and central differences, and those that are others by another name.
import { policyLoss, type PolicyBatch, policyLossNames } from "../../lib";
import { eachBackend } from "../support/each-backend";

const shape = [4, 3] as const;
const logProbs = [-0.4, -1.2, -0.7, -0.9, -0.3, -1.6, -0.2, -0.5, -1.1, -0.8, -0.6, -1.3];
const oldLogProbs = Float64Array.of(-0.5, -1, -0.8, -1.2, -0.1, -1.5, -0.4, -0.4, -0.9, -0.7, -0.9, -1.2);
const referenceLogProbs = Float64Array.from(oldLogProbs, (o, i) => o + 0.2 * Math.sin(i));
const mask = Uint8Array.of(1, 1, 1, 1, 0, 1, 1, 1, 0, 0, 0, 0); // the last row has no token
const advantages = Float64Array.of(0.7, -0.7, 0.4, 1);
const batchOf = (x: readonly number[]): PolicyBatch & { readonly logProbs: Float64Array } => ({
  shape,
  mask,
  logProbs: Float64Array.from(x, (l, i) => (mask[i] === 0 ? NaN : l)),
  oldLogProbs,
  referenceLogProbs,
  advantages,
});

const keptOf = (b: number): number[] => [0, 1, 2].map((t) => 3 * b + t).filter((i) => mask[i] !== 0);
const meanGap = (x: ArrayLike<number>, y: ArrayLike<number>, b: number): number =>
  keptOf(b).reduce((sum, i) => sum + (x[i]! - y[i]!) / keptOf(b).length, 0);
const ROWS = [0, 1, 2];

const logZ = Float64Array.of(0.2, -0.1, 0.3, 5);
const weight = (b: number): number =>
  Math.min(Math.max(Math.exp(keptOf(b).reduce((sum, i) => sum + logProbs[i]! - oldLogProbs[i]!, 0)), 0.8), 1.2);
const flow = (x: readonly number[], z: ArrayLike<number> = logZ): number =>
  ROWS.reduce(
    (sum, b) => sum + (weight(b) * (z[b]! + meanGap(x, referenceLogProbs, b) - 3 * advantages[b]!) ** 2) / 3,
    0,
  );

const labels = (x: readonly number[], groups: readonly (readonly number[])[]): number =>
  groups.reduce((all, rows) => {
    const side = (sign: number): number =>
      rows
        .filter((b) => Math.sign(advantages[b]!) === sign)
        .reduce((sum, b) => sum + Math.exp((-sign * meanGap(x, oldLogProbs, b)) / 0.5), 1);
    return all + (Math.log(side(1)) + Math.log(side(-1))) / groups.length;
  }, 0);

function slopes(loss: (x: readonly number[]) => number, at: readonly number[]): number[] {
  const h = 1e-6;
  const moved = (i: number, by: number): number => loss(at.map((x, j) => (i === j ? x + by : x)));
  return at.map((_, i) => (moved(i, h) - moved(i, -h)) / (2 * h));
}
const CLOSE = { atol: 1e-8 };

eachBackend((backend) => {
  test("flowRl", () => {
    const given = { ...batchOf(logProbs), logZ };
    const { loss, gradLogProbs, gradLogZ } = policyLoss("flowRl", given, { beta: 3, backend });
    expect([loss]).toBeAllClose([flow(logProbs)], { atol: 1e-12 });
    expect(gradLogProbs).toBeAllClose(slopes(flow, logProbs), CLOSE);
    expect(gradLogZ).toBeAllClose(
      slopes((z) => flow(logProbs, z), Array.from(logZ)),
      CLOSE,
    );
    const all = Float64Array.from(logProbs);
    expect(() => policyLoss("flowRl", { shape, logProbs: all, advantages }, { backend })).toThrow(
      "flowRlLoss: referenceLogProbs is undefined",
    );
  });

  test.each([
    ["one group", undefined, [[0, 1, 2]]],
    ["two groups", ["a", "a", "b", "b"], [[0, 1], [2]]],
  ] as const)("real, %s", (_, groups, of) => {
    const given = { ...batchOf(logProbs), ...(groups && { groups }) };
    const { loss, policyLoss: term, gradLogProbs } = policyLoss("real", given, { tau: 0.5, backend });
    expect([loss, term]).toBeAllClose([labels(logProbs, of), labels(logProbs, of)], { atol: 1e-12 });
    expect(gradLogProbs).toBeAllClose(
      slopes((x) => labels(x, of), logProbs),
      CLOSE,
    );
  });

  test("rewards say which rows of topr are good", () => {
    const options = { backend, aggregation: "tokenSum" } as const;
    const given = { ...batchOf(logProbs), rewards: Float64Array.of(-1, 1, 0, 0) };
    const { gradLogProbs } = policyLoss("topr", given, options);
    const want = logProbs.map((l, i) => {
      const b = Math.floor(i / 3);
      return mask[i] === 0 ? 0 : -advantages[b]! * (b === 1 ? 1 : Math.min(Math.exp(l - oldLogProbs[i]!), 1));
    });
    expect(gradLogProbs).toBeAllClose(want, { atol: 1e-12 });
  });

  test.each([
    ["dppoTv", "dppo", { low: 0.05, high: 0.1 }, { measure: "probability" }],
    ["dppoKl", "dppo", { low: 0.05, high: 0.1 }, { measure: "binaryKl" }],
    ["kimi", "dro", { beta: 0.3 }, {}],
  ])("%s is %s", (name, of, options, more) => {
    const evaluate = policyLoss as unknown as (name: string, batch: object, options: object) => object;
    const given = batchOf(logProbs);
    expect(evaluate(name, given, { ...options, backend })).toEqual(
      evaluate(of, given, { ...options, ...more, backend }),
    );
  });
});

test("a name that is nearly one of these is asked about", () => {
  expect(policyLossNames).toContain("topr");
  expect(() => policyLoss("tropr" as "topr", batchOf(logProbs))).toThrow('did you mean "topr"?');
});
