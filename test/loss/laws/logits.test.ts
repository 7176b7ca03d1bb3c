// The chain rule: logits → logprob → loss → its gradients → logprobBackward is the finite difference of the loss as a function of
// the logits, with everything by definition in float64. The same through the fused head.
import {
  linearLogprob,
  linearLogprobBackward,
  logprob,
  logprobBackward,
  type PolicyBatch,
  policyLoss,
  policyLossFromLogits,
  type PolicyLossFromLogitsResult,
  policyLossNames,
  type PolicyLossResult,
} from "../../../lib";
import { klTerm, type LossCase, policyTerm, weight } from "../../oracle/policy-loss";
import { type BackendName, eachBackend } from "../../support/each-backend";
import { rng } from "../../support/rng";
import { COMPOSED, type OwnName, POLICY_LOSSES } from "./policy-losses";

const [B, T, V, D] = [2, 4, 5, 3];
const N = B * T;
const MASK = Uint8Array.of(1, 1, 1, 0, 1, 0, 1, 1);
const BONUS = 0.2;
const MODE = "rowSum";

/** Constants of a batch, and targets. */
function constants(seed: number) {
  const r = rng(seed);
  return {
    targets: r.i32(N, 0, V),
    old: r.f64(N, -2.2, -0.9),
    reference: r.f64(N, -2.5, -0.8),
    advantages: r.f64(B, -2, 2),
  };
}
type Constants = ReturnType<typeof constants>;

interface Token {
  readonly logProb: number;
  readonly entropy: number;
}

function tokensOf(logits: ArrayLike<number>, targets: Int32Array): Token[] {
  return Array.from({ length: N }, (_, i) => {
    const e = Array.from({ length: V }, (__, v) => Math.exp(logits[i * V + v]!));
    const total = e.reduce((sum, x) => sum + x, 0);
    const p = e.map((x) => x / total);
    return { logProb: Math.log(p[targets[i]!]!), entropy: -p.reduce((sum, x) => sum + x * Math.log(x), 0) };
  });
}

function matrix<Value>(value: (i: number, b: number) => Value): Value[][] {
  return Array.from({ length: B }, (_, b) => Array.from({ length: T }, (__, t) => value(b * T + t, b)));
}

/** The whole loss as a function of the logits; what is constant for the gradient is taken at `frozen`. */
function definition(name: OwnName, c: Constants, frozen: readonly Token[], marks: Uint8Array | undefined) {
  const { settings, ratio } = POLICY_LOSSES[name].chain;
  const common = {
    frozen: matrix((i) => frozen[i]!.logProb),
    old: matrix((i) => c.old[i]!),
    reference: matrix((i) => c.reference[i]!),
    advantages: matrix((_, b) => c.advantages[b]!),
    factors: matrix(() => 1),
    advantagesPerRow: true,
    factorsPerRow: false,
    mask: matrix((i) => MASK[i] === 1),
    terms: matrix(() => true),
    rowKept: [true, true],
  };
  const all = { ...settings, ...(marks && { marked: matrix((i) => marks[i] === 1) }) };
  const kl = { coefficient: 0.3, kind: "k3" as const, ...(ratio && { corrected: ratio }) };
  return (logits: ArrayLike<number>): number => {
    const tokens = tokensOf(logits, c.targets);
    const given: LossCase = { ...common, current: matrix((i) => tokens[i]!.logProb) };
    const entropy = tokens.reduce(
      (sum, token, i) => sum + (MASK[i] === 1 ? weight(given, MODE, Math.floor(i / T)) * token.entropy : 0),
      0,
    );
    return policyTerm[name]!(given, MODE, all) + klTerm(given, MODE, kl, all) - BONUS * entropy;
  };
}

/** Everything but the log-probs. */
function callOf(name: OwnName, c: Constants, backend: BackendName) {
  const { options, ratio } = POLICY_LOSSES[name].chain;
  const batch = {
    shape: [B, T],
    mask: MASK,
    oldLogProbs: c.old,
    referenceLogProbs: c.reference,
    advantages: c.advantages,
    advantagesPer: "row",
  } as const;
  const kl = { coefficient: 0.3, kind: "k3", importanceCorrected: ratio !== undefined };
  return { batch, options: { aggregation: MODE, ...options, kl, entropyBonus: { coefficient: BONUS }, backend } };
}

function evaluate(
  name: OwnName,
  c: Constants,
  backend: BackendName,
  state: Pick<PolicyBatch, "logProbs" | "entropies">,
) {
  const { batch, options } = callOf(name, c, backend);
  const call = policyLoss as unknown as (
    name: string,
    batch: PolicyBatch,
    options: object,
  ) => PolicyLossResult & { dropped?: Uint8Array; selected?: Uint8Array };
  return call(name, { ...batch, ...state }, options);
}

/** Central differences, with a step that float64 likes. */
function slopesOf(total: (x: Float64Array) => number, at: Float64Array): number[] {
  const h = 1e-5;
  const moved = (i: number, step: number) => total(at.map((x, j) => (j === i ? x + step : x)));
  return Array.from(at, (_, i) => (moved(i, h) - moved(i, -h)) / (2 * h));
}

test("every loss of policyLoss has its chain", () => {
  expect([...Object.keys(POLICY_LOSSES), ...COMPOSED].sort()).toEqual([...policyLossNames].sort());
});

eachBackend((backend) => {
  test.each(Object.keys(POLICY_LOSSES) as OwnName[])(
    "%s: with KL and entropy bonus, through explicit logits",
    (name) => {
      for (const seed of [11, 12, 13]) {
        const c = constants(seed);
        const logits = rng(seed + 100).normal(N * V);
        const where = { shape: [N, V] as const, mask: MASK, backend };
        const state = logprob(logits, c.targets, where);
        const result = evaluate(name, c, backend, { logProbs: state.logProbs, entropies: state.entropies });
        const gradient = logprobBackward<Float32Array>(logits, c.targets, state, {
          ...where,
          gradLogProbs: result.gradLogProbs,
          gradEntropies: result.gradEntropies!,
        });

        const at = Float64Array.from(logits);
        const total = definition(name, c, tokensOf(at, c.targets), result.dropped ?? result.selected);
        // Log-probs and logit gradients are float32.
        expect(result.loss).toBeAllClose(total(at), { rtol: 2e-6, atol: 2e-6 });
        expect(gradient).toBeAllClose(slopesOf(total, at), { rtol: 1e-5, atol: 2e-6 });
        expect(gradient.filter((g, i) => MASK[Math.floor(i / V)] === 0 && g !== 0)).toHaveLength(0);

        // One call: the bits of the three.
        const fromLogits = policyLossFromLogits as unknown as (
          name: string,
          logits: Float32Array,
          targets: Int32Array,
          batch: object,
          options: object,
        ) => PolicyLossFromLogitsResult<"ppo", Float32Array>;
        const { batch, options } = callOf(name, c, backend);
        expect(fromLogits(name, logits, c.targets, batch, options)).toEqual({
          ...state,
          ...result,
          gradLogits: gradient,
        });
      }
    },
  );

  test.each(["ppo", "gspo", "klCov"] as const)("%s: with KL and entropy bonus, through the fused head", (name) => {
    const c = constants(21);
    const r = rng(22);
    const hidden = r.f64(N * D, -1.5, 1.5);
    const head = r.f64(V * D, -1, 1);
    const where = { shape: [N, D] as const, mask: MASK, backend };
    const state = linearLogprob(hidden, head, c.targets, where);
    const result = evaluate(name, c, backend, { logProbs: state.logProbs, entropies: state.entropies });
    const { gradHidden, gradWeight } = linearLogprobBackward(hidden, head, c.targets, state, {
      ...where,
      gradLogProbs: result.gradLogProbs,
      gradEntropies: result.gradEntropies!,
    });

    const logitsOf = (x: Float64Array, w: Float64Array) =>
      Float64Array.from({ length: N * V }, (_, i) => {
        const [n, v] = [Math.floor(i / V), i % V];
        return Array.from({ length: D }, (__, d) => x[n * D + d]! * w[v * D + d]!).reduce((sum, y) => sum + y, 0);
      });
    const total = definition(name, c, tokensOf(logitsOf(hidden, head), c.targets), result.selected);
    expect(result.loss).toBeAllClose(total(logitsOf(hidden, head)), { rtol: 1e-12, atol: 1e-12 });
    const close = { rtol: 1e-7, atol: 1e-8 };
    expect(gradHidden as Float64Array).toBeAllClose(
      slopesOf((x) => total(logitsOf(x, head)), hidden),
      close,
    );
    expect(gradWeight!).toBeAllClose(
      slopesOf((w) => total(logitsOf(hidden, w)), head),
      close,
    );
  });
});
