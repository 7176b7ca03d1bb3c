// Policy losses from the logits: the three calls by one, for every name, preset, weight and layout, in place and off the event loop.
import {
  logprob,
  logprobBackward,
  onePassLossNames,
  type PolicyBatch,
  policyLoss,
  policyLossFromLogits,
  policyLossFromLogitsAsync,
  type PolicyLossFromLogitsResult,
  type PolicyLossName,
  policyLossNames,
  type PolicyLossResult,
} from "../../lib";
import { toHalfBits } from "../../lib/core/half";
import { type BackendName, eachBackend } from "../support/each-backend";
import { errorFacts } from "../support/error-facts";
import { rng } from "../support/rng";

const V = 6;
const OFFSETS = Int32Array.of(0, 4, 4, 7, 10);
const n = 10;

// Any name with any options: what the types tie together, a table cannot.
const named = policyLoss as unknown as (name: string, batch: PolicyBatch, options: object) => PolicyLossResult;
type Result = PolicyLossFromLogitsResult<"ppo", Float32Array>;
type Call<Answer> = (name: string, logits: unknown, targets: unknown, batch: object, options?: object) => Answer;
const fromLogits = policyLossFromLogits as unknown as Call<Result>;
const fromLogitsAsync = policyLossFromLogitsAsync as unknown as Call<Promise<Result>>;

const band = { clipLow: 0.2, clipHigh: 0.28 };
const OPTIONS: Readonly<Record<PolicyLossName, object>> = {
  ppo: { ...band, dualClip: 3 },
  gspo: { clipLow: 0.03, clipHigh: 0.04 },
  gspoToken: { clipLow: 0.03, clipHigh: 0.04 },
  gmpo: { clip: 0.4 },
  cispo: { clipHigh: 0.3 },
  sapo: {},
  vespo: {},
  luspo: { clip: 0.05 },
  rloo: band,
  reinforce: {},
  clipCov: { ...band, share: 0.3, between: [-10, 10], seed: 4 },
  klCov: { share: 0.3 },
  cpgd: band,
  optimalValue: { beta: 0.3 },
  dppo: { low: 0.2, high: 0.2 },
  dro: { beta: 0.1 },
  dppoTv: { low: 0.2, high: 0.2 },
  dppoKl: { low: 0.05, high: 0.05 },
  kimi: { beta: 0.1 },
  topr: { negativeWeight: 2 },
  segmentRatio: { clip: 0.1 },
  flowRl: { beta: 2 },
  real: { tau: 0.5 },
  bypass: { objective: "clip", clip: 0.2 },
};
const WHOLE_ROWS: readonly PolicyLossName[] = ["rloo", "optimalValue", "flowRl", "real"];

const r = rng(77);
const logits = r.normal(n * V, 0, 1.5);
const targets = r.i32(n, 0, V);
const mask = Uint8Array.of(1, 1, 0, 1, 1, 1, 1, 0, 1, 1);
const near = (spread: number) => Float64Array.from(targets, () => -1.8 + spread * (r.uniform() - 0.5));
const ARRAYS = {
  offsets: OFFSETS,
  mask,
  oldLogProbs: near(1.5),
  referenceLogProbs: near(1),
  samplerLogProbs: near(1.2),
  advantages: Float32Array.of(1, -1, 0.5, -2),
  advantagesPer: "row",
  rowMask: Uint8Array.of(1, 1, 1, 0),
} as const;
const TOKEN_ARRAYS = {
  rolloutWeights: r.f64(n, 0.5, 1.5),
  rolloutWeightsPer: "token",
  termMask: r.mask(n, 0.7),
} as const;
const SHARED = {
  aggregation: "rowMean",
  kl: { coefficient: 0.2 },
  entropyBonus: { coefficient: 0.1, mask: r.mask(n, 0.6), aggregation: "tokenMean" },
};

function batchOf(name: PolicyLossName): object {
  const { oldLogProbs, ...bypassed } = ARRAYS;
  if (name === "bypass") return bypassed;
  return { ...bypassed, oldLogProbs, ...(WHOLE_ROWS.includes(name) ? {} : TOKEN_ARRAYS) };
}

/** The three calls. */
function composed(name: PolicyLossName, options: object, map: object, backend: BackendName) {
  const where = { ...map, shape: [n, V] as const, mask, backend };
  const state = logprob(logits, targets, where);
  const result = named(
    name,
    { ...batchOf(name), logProbs: state.logProbs, entropies: state.entropies } as PolicyBatch,
    { ...options, backend },
  );
  const { gradLogProbs, gradEntropies } = result;
  const gradLogits = logprobBackward(logits, targets, state, {
    ...where,
    gradLogProbs,
    ...(gradEntropies && { gradEntropies }),
  });
  return { ...state, ...result, gradLogits };
}

test("the losses of one pass are those whose gradient at a token depends on that token alone", () => {
  expect([...onePassLossNames].sort()).toEqual(["cispo", "cpgd", "ppo", "reinforce", "sapo"]);
});

eachBackend((backend) => {
  test.each(policyLossNames)("%s: every result is that of the three calls, to the bit", async (name) => {
    const options = { ...SHARED, ...OPTIONS[name] };
    const map = { temperature: 0.8 };
    const want = composed(name, options, map, backend);
    const given = { ...options, ...map, backend };
    expect(fromLogits(name, logits, targets, batchOf(name), given)).toEqual(want);
    const own = logits.slice();
    expect(fromLogits(name, own, targets, batchOf(name), { ...given, out: own }).gradLogits).toBe(own);
    expect(own).toEqual(want.gradLogits);
    await expect(fromLogitsAsync(name, logits, targets, batchOf(name), given)).resolves.toEqual(want);
  });

  test.each([
    ["ppo", "verl", { clip: 0.2 }],
    ["ppo", "trl", { clip: 0.2 }],
    ["cispo", "trl", { clipHigh: 4 }],
    ["sapo", "trl", {}],
    ["reinforce", "verl", {}],
    ["gspo", "openrlhf", { clip: 3e-4 }],
    ["gspo", "trl", { clip: 3e-4 }],
  ] as const)("%s with preset %s: the same conventions", (name, preset, options) => {
    const given = { ...options, preset, kl: { coefficient: 0.1 } };
    expect(fromLogits(name, logits, targets, batchOf(name), { ...given, backend })).toEqual(
      composed(name, given, {}, backend),
    );
  });

  test("a tensor knows its vocabulary; half types have a gradient of their own type", () => {
    const bits = toHalfBits(logits, "bfloat16");
    const tensor = { data: bits, dims: [n, V], type: "bfloat16" };
    const state = logprob(tensor, targets, { mask: mask, backend });
    const result = named(
      "ppo",
      { ...batchOf("ppo"), logProbs: state.logProbs, entropies: state.entropies } as PolicyBatch,
      { clip: 0.2, backend },
    );
    const want = logprobBackward(tensor, targets, state, { mask: mask, backend, gradLogProbs: result.gradLogProbs });
    expect(fromLogits("ppo", tensor, targets, batchOf("ppo"), { clip: 0.2, backend }).gradLogits).toEqual(want);
    expect(fromLogits("gspo", tensor, targets, batchOf("gspo"), { clip: 0.2, backend }).gradLogits).toHaveLength(n * V);
  });

  test.each(["ppo", "gspo"] as const)("%s: what lies under the mask changes no bit", (name) => {
    const given = { ...SHARED, ...OPTIONS[name], backend };
    const want = fromLogits(name, logits, targets, batchOf(name), given);
    const hidden = (i: number) => mask[i] === 0;
    const poisoned = logits.map((x, i) => (hidden(Math.floor(i / V)) ? NaN : x));
    const ids = targets.map((id, i) => (hidden(i) ? -100 : id));
    const oldLogProbs = ARRAYS.oldLogProbs.map((x, i) => (hidden(i) ? NaN : x));
    expect(fromLogits(name, poisoned, ids, { ...batchOf(name), oldLogProbs }, given)).toEqual(want);
    expect(Array.from(want.gradLogits).every((g, i) => !hidden(Math.floor(i / V)) || Object.is(g, 0))).toBe(true);
  });

  test("ids as int64, and rows with padding", () => {
    const stride = V + 3;
    const wide = new Float32Array(n * stride).fill(NaN);
    for (let i = 0; i < n; ++i) wide.set(logits.subarray(i * V, (i + 1) * V), i * stride);
    const ids = BigInt64Array.from(targets, BigInt);
    const rowsOf = (gradient: Float32Array, width: number) =>
      Array.from({ length: n }, (_, i) => [...gradient.subarray(i * width, i * width + V)]);
    for (const name of ["ppo", "gspo"] as const) {
      const want = fromLogits(name, logits, targets, batchOf(name), { ...OPTIONS[name], backend }).gradLogits;
      const got = fromLogits(name, wide, ids, batchOf(name), {
        ...OPTIONS[name],
        vocab: V,
        stride,
        backend,
      }).gradLogits;
      expect(rowsOf(got, stride)).toEqual(rowsOf(want, V));
      expect(got.filter((g, i) => i % stride >= V && g !== 0)).toHaveLength(0);
    }
  });

  test("an aborted signal rejects with its reason", async () => {
    const reason = new Error("enough");
    for (const name of ["ppo", "gspo"] as const) {
      const call = fromLogitsAsync(name, logits, targets, batchOf(name), {
        ...OPTIONS[name],
        backend,
        signal: AbortSignal.abort(reason),
      });
      await expect(call).rejects.toBe(reason);
    }
  });
});

describe("bad input", () => {
  const op = "policyLossFromLogits";
  const call =
    (name: string, changes: object, options: object = { clip: 0.2 }, x: unknown = logits, ids: unknown = targets) =>
    () =>
      fromLogits(name, x, ids, { ...batchOf("ppo"), ...changes }, options);

  test.each([
    ["an unknown name", call("dapo", {}), ["ERR_SURPRISAL_OPTION", op, "name"]],
    [
      "log-probs that nobody reads",
      call("ppo", { logProbs: new Float32Array(n) }),
      ["ERR_SURPRISAL_OPTION", op, "logProbs"],
    ],
    [
      "entropies that nobody reads",
      call("gspo", { entropies: new Float32Array(n) }),
      ["ERR_SURPRISAL_OPTION", op, "entropies"],
    ],
    ["a missing clip range", call("ppo", {}, {}), ["ERR_SURPRISAL_OPTION", op, "clipLow"]],
    [
      "no reference",
      call("ppo", { referenceLogProbs: undefined }, { clip: 0.2, kl: { coefficient: 1 } }),
      ["ERR_SURPRISAL_OPTION", op, "referenceLogProbs"],
    ],
    [
      "old log-probs of the wrong length",
      call("ppo", { oldLogProbs: new Float32Array(3) }),
      ["ERR_SURPRISAL_SHAPE", op, "oldLogProbs"],
    ],
    [
      "targets of the wrong length",
      call("ppo", {}, { clip: 0.2 }, logits, new Int32Array(3)),
      ["ERR_SURPRISAL_SHAPE", op, "targets"],
    ],
    [
      "the same in two passes",
      call("gspo", {}, { clip: 0.2 }, logits, new Int32Array(3)),
      ["ERR_SURPRISAL_SHAPE", op, "targets"],
    ],
    [
      "logits of the wrong length",
      call("gspo", {}, { clip: 0.2 }, logits.subarray(1)),
      ["ERR_SURPRISAL_SHAPE", op, "logits.length"],
    ],
    [
      "a target past the vocabulary",
      call("ppo", {}, { clip: 0.2 }, logits, new Int32Array(n).fill(V)),
      ["ERR_SURPRISAL_RANGE", op, "targets[0]"],
    ],
    [
      "metric names of nobody",
      call("ppo", {}, { clip: 0.2, metricNames: "keras" }),
      ["ERR_SURPRISAL_OPTION", op, "metricNames"],
    ],
    [
      "a bonus without a coefficient",
      call("ppo", {}, { clip: 0.2, entropyBonus: {} }),
      ["ERR_SURPRISAL_OPTION", op, "entropyBonus.coefficient"],
    ],
  ])("%s", (_, run, facts) => {
    expect(errorFacts(run)).toEqual(facts);
  });

  test("nothing is written where a call is refused", () => {
    const out = new Float32Array(n * V).fill(7);
    expect(call("ppo", { oldLogProbs: new Float32Array(3) }, { clip: 0.2, out })).toThrow();
    expect(out).toEqual(new Float32Array(n * V).fill(7));
  });
});
