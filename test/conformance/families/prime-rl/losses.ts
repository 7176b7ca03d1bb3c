// prime-rl: policy losses, imitation and distillation, and their sum.
import {
  affine,
  combineLosses,
  type CombinedLoss,
  dppoLoss,
  type DppoLossResult,
  klEstimates,
  moments,
  type PolicyBatch,
  reinforceLoss,
} from "surprisal";
import type { FloatArray, Inputs } from "../../inputs";
import type { Context, Mapping } from "../../mapping";

const family = "prime-rl";
const options = 'preset "prime-rl", the sampler\'s log-probs as oldLogProbs; proximity 2 kl_tau';
const means = "figures: `moments` of k3 of the sampler and of flags, over rows, inside and outside of the region";

/** The tokens that count, and what each of them weighs. */
interface Stream {
  readonly mask: Uint8Array;
  readonly weights: FloatArray | undefined;
}

function batchOf(inputs: Inputs, { mask, weights }: Stream, advantages: FloatArray): PolicyBatch {
  return {
    shape: inputs.shape2("loss_mask"),
    mask,
    logProbs: inputs.floats("trainer_logprobs"),
    oldLogProbs: inputs.floats("inference_logprobs"),
    advantages,
    advantagesPer: "token",
    ...(weights && { rolloutWeights: weights, rolloutWeightsPer: "token" }),
  };
}

const streamOf = (inputs: Inputs): Stream => ({
  mask: inputs.uint8("loss_mask"),
  weights: inputs.has("loss_weights") ? inputs.floats("loss_weights") : undefined,
});

function reinforced(inputs: Inputs, stream: Stream, region: object, { backend }: Context): DppoLossResult {
  const shape = inputs.shape2("loss_mask");
  const scale = inputs.number("adv_tau");
  const advantages = affine(Float64Array.from(inputs.floats("advantages")), { shape, scale, backend });
  const bounds = inputs.has("ipo_threshold")
    ? ({ sides: "both", low: inputs.number("ipo_threshold"), high: inputs.number("ipo_threshold") } as const)
    : { low: inputs.number("dppo_mask_low"), high: inputs.number("dppo_mask_high") };
  const proximity = 2 * inputs.number("kl_tau");
  return dppoLoss(batchOf(inputs, stream, advantages), {
    preset: "prime-rl",
    ...bounds,
    proximity,
    ...region,
    backend,
  });
}

function distilled(inputs: Inputs, stream: Stream, count: object, { backend }: Context): DppoLossResult {
  const batch = batchOf(inputs, stream, gainTo(inputs, backend));
  return dppoLoss(batch, {
    preset: "prime-rl",
    sides: "both",
    low: 0.2,
    high: Infinity,
    proximity: 2e-3,
    ...count,
    backend,
  });
}

/** q − ℓ per token. */
function gainTo(inputs: Inputs, backend: Context["backend"]): FloatArray {
  const [rows, T] = inputs.shape2("loss_mask");
  const center = Float64Array.from(inputs.floats("trainer_logprobs"));
  return affine(Float64Array.from(inputs.floats("ref_logprobs")), { shape: [rows * T, 1], center, backend });
}

function imitated(inputs: Inputs, { mask, weights }: Stream, count: object, { backend }: Context): CombinedLoss {
  const advantages = weights ?? new Float64Array(mask.length).fill(1);
  const batch = { ...batchOf(inputs, { mask, weights: undefined }, advantages), oldLogProbs: undefined };
  return reinforceLoss(batch, { aggregation: "tokenSum", ...count, backend });
}

const outputs = ({ loss, gradLogProbs }: CombinedLoss) => ({ loss, grad_trainer_logprobs: gradLogProbs });

/** Means over the rows of the tokens that `where` picks, 0 where it picks none. */
function rowMeans(
  inputs: Inputs,
  values: FloatArray,
  where: (i: number) => boolean,
  { backend }: Context,
): Float64Array {
  const shape = inputs.shape2("loss_mask");
  const mask = inputs.uint8("loss_mask").map((kept, i) => (kept !== 0 && where(i) ? 1 : 0));
  return moments(Float64Array.from(values), { shape, mask, over: "row", backend }).means.map((mean) => mean || 0);
}

/** What is logged of a region, per row. */
function regionFigures(inputs: Inputs, { inside }: DppoLossResult, context: Context) {
  const shape = inputs.shape2("loss_mask");
  const [sampler, own] = [inputs.floats("inference_logprobs"), inputs.floats("trainer_logprobs")];
  const kl = klEstimates(sampler, own, { shape, kind: "k3", backend: context.backend }).values;
  const advantages = inputs.floats("advantages");
  const flags = (of: (i: number) => boolean) => Float64Array.from(inside, (_, i) => (of(i) ? 1 : 0));
  const out = (i: number): boolean => inside[i] === 0;
  const high = (i: number): boolean => advantages[i]! > 0;
  const everywhere = (): boolean => true;
  return {
    masked_mismatch_kl: rowMeans(inputs, kl, out, context),
    unmasked_mismatch_kl: rowMeans(inputs, kl, (i) => !out(i), context),
    is_masked: rowMeans(inputs, flags(out), everywhere, context),
    is_masked_low: rowMeans(
      inputs,
      flags((i) => out(i) && !high(i)),
      everywhere,
      context,
    ),
    is_masked_high: rowMeans(
      inputs,
      flags((i) => out(i) && high(i)),
      everywhere,
      context,
    ),
    masked_advantage_positive: rowMeans(inputs, flags(high), out, context),
    masked_advantage_negative: rowMeans(
      inputs,
      flags((i) => !high(i)),
      out,
      context,
    ),
  };
}

/** A component over its own tokens, those with weight, divided by its own count. */
function component(inputs: Inputs, name: string, mask: Uint8Array): { stream: Stream; count: object } | undefined {
  const weights = inputs.has(`${name}_weights`) ? inputs.floats(`${name}_weights`) : undefined;
  if (!weights && name !== "rl") return undefined;
  const own = weights ? mask.map((kept, i) => (weights[i] === 0 ? 0 : kept)) : mask;
  return {
    stream: { mask: own, weights },
    count: { aggregation: "tokenMean", tokens: inputs.number(`${name}_scale`) },
  };
}

export const primeRlLosses: readonly Mapping[] = [
  {
    family,
    function: "default_loss_fn",
    ours: "dppoLoss",
    options: `${options}; ${means}`,
    run: (inputs, context) => {
      const result = reinforced(inputs, streamOf(inputs), {}, context);
      return { ...outputs(result), metrics_per_row: regionFigures(inputs, result, context) };
    },
  },
  {
    family,
    function: "ipo_loss_fn",
    ours: "dppoLoss",
    options: `${options}, sides "both"; ${means}`,
    run: (inputs, context) => {
      const result = reinforced(inputs, streamOf(inputs), {}, context);
      return { ...outputs(result), metrics_per_row: regionFigures(inputs, result, context) };
    },
  },
  {
    family,
    function: "ref_kl_loss_fn",
    ours: "dppoLoss",
    options: `${options}, sides "both", high Infinity; the advantage is q − ℓ; ${means}`,
    run: (inputs, context) => {
      const result = distilled(inputs, streamOf(inputs), {}, context);
      const figures = Object.entries(regionFigures(inputs, result, context));
      const gain = rowMeans(inputs, gainTo(inputs, context.backend), () => true, context);
      return {
        ...outputs(result),
        metrics_per_row: { ...Object.fromEntries(figures.map(([name, of]) => [`ref_kl/${name}`, of])), ref_kl: gain },
      };
    },
  },
  {
    family,
    function: "ce_loss_fn",
    ours: "reinforceLoss",
    options: 'aggregation "tokenSum"; the weights as advantages',
    run: (inputs, context) => {
      const { backend } = context;
      const shape = inputs.shape2("loss_mask");
      const losses = affine(Float64Array.from(inputs.floats("trainer_logprobs")), { shape, scale: -1, backend });
      const nll = rowMeans(inputs, losses, () => true, context);
      return { ...outputs(imitated(inputs, streamOf(inputs), {}, context)), metrics_per_row: { nll } };
    },
  },
  {
    family,
    function: "compute_loss",
    ours: ["combineLosses", "dppoLoss", "reinforceLoss"],
    options: "three losses, each over its own tokens and with `tokens` of its own",
    run: (inputs, context) => {
      const mask = inputs.uint8("loss_mask");
      const every = mask.map(() => 1);
      const rl = component(inputs, "rl", mask);
      const ce = component(inputs, "ce", every);
      const kl = component(inputs, "ref_kl", every);
      return outputs(
        combineLosses([
          ...(rl ? [reinforced(inputs, rl.stream, rl.count, context)] : []),
          ...(ce ? [imitated(inputs, ce.stream, ce.count, context)] : []),
          ...(kl ? [distilled(inputs, kl.stream, kl.count, context)] : []),
        ]),
      );
    },
  },
];
