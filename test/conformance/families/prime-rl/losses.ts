// prime-rl: policy losses, imitation and distillation, and their sum.
import { affine, combineLosses, type CombinedLoss, dppoLoss, type PolicyBatch, reinforceLoss } from "surprisal";
import type { FloatArray, Inputs } from "../../inputs";
import type { Context, Mapping } from "../../mapping";

const family = "prime-rl";
const options = 'preset "prime-rl", the sampler\'s log-probs as oldLogProbs; proximity 2 kl_tau';
const notCompared = {
  outputs: ["metrics_per_row"],
  because: "means over tokens inside and outside of the region: the result has `inside`",
};

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

function reinforced(inputs: Inputs, stream: Stream, region: object, { backend }: Context): CombinedLoss {
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

function distilled(inputs: Inputs, stream: Stream, count: object, { backend }: Context): CombinedLoss {
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
    options,
    notCompared,
    run: (inputs, context) => outputs(reinforced(inputs, streamOf(inputs), {}, context)),
  },
  {
    family,
    function: "ipo_loss_fn",
    ours: "dppoLoss",
    options: `${options}, sides "both"`,
    notCompared,
    run: (inputs, context) => outputs(reinforced(inputs, streamOf(inputs), {}, context)),
  },
  {
    family,
    function: "ref_kl_loss_fn",
    ours: "dppoLoss",
    options: `${options}, sides "both", high Infinity; the advantage is q − ℓ`,
    notCompared,
    run: (inputs, context) => outputs(distilled(inputs, streamOf(inputs), {}, context)),
  },
  {
    family,
    function: "ce_loss_fn",
    ours: "reinforceLoss",
    options: 'aggregation "tokenSum"; the weights as advantages',
    notCompared: { outputs: ["metrics_per_row"], because: "a mean of log-probs, which moments gives" },
    run: (inputs, context) => outputs(imitated(inputs, streamOf(inputs), {}, context)),
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
