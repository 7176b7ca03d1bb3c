// Policy losses by name, from the logits to their gradient: in one pass where a token's loss depends on that token alone.
import { needIds, type TokenIds } from "../../core/arrays";
import { optionError } from "../../core/errors";
import { unknownName } from "../../core/option-checks";
import type { PlainFields } from "../../core/plain-types";
import { needMaskedRows } from "../../core/row-layout";
import {
  type AsyncOption,
  logprob,
  logprobAsync,
  logprobBackward,
  logprobBackwardAsync,
  type Logits,
  type LogprobResult,
} from "../../ops/logprob";
import { differentiateKept, evaluateKept, type KeptIds } from "../../ops/logprob/kept";
import type { TokenLogitsOptions, TokenLogitsResult } from "../../ops/loss";
import { differentiateLogits, differentiateLogitsAsync, needTokenLogits } from "../../ops/loss/logit-gradient";
import type { PresetName } from "../../presets";
import { needPolicyInputs, type PolicyBatch, type PolicyInputs } from "./policy-batch";
import { carryOut, planPolicy, policyResult, termsOf } from "./evaluate-policy";
import type { PolicyLossResult } from "./policy-loss-result";
import type { PolicyLossOptions } from "./policy-loss-options";
import LOSSES from "./losses";
import {
  policyLoss,
  type PolicyLossBatch,
  type PolicyLossName,
  policyLossNames,
  type PolicyLossOptionsArgument,
  type PolicyLossOptionsOf,
  type PolicyLossResultOf,
} from "./policy-loss";
import { seesTokensAlone, type TokenMap } from "./token-map";

/**
 * The losses that read logits once. The others see rows, or the whole batch, before they know what a token's log-prob is worth.
 */
const tokenMaps: ReadonlyMap<string, TokenMap<PolicyLossOptions>> = new Map(
  Object.entries(LOSSES).flatMap(([name, loss]) =>
    // Called with the options of its own name alone.
    "tokenMap" in loss ? [[name, loss.tokenMap as unknown as TokenMap<PolicyLossOptions>]] : [],
  ),
);

/** The names of `policyLoss` whose loss of a token depends on that token alone: `policyLossFromLogits` reads their logits once. */
export const onePassLossNames: readonly PolicyLossName[] = policyLossNames.filter((name) => tokenMaps.has(name));

/** The batch of `policyLoss` without log-probs and entropies: they come from the logits. */
export type PolicyLossFromLogitsBatch<Name extends PolicyLossName> = Omit<
  PolicyLossBatch<Name>,
  "logProbs" | "entropies"
>;

/** How logits lie and become log-probs. */
export interface KeptLogitsOptions extends TokenLogitsOptions {
  /**
   * The ids that the sampler kept of each token, as in `keptLogprob`: log-probs are over these and the target, entropies over all.
   * Default: log-probs are over the whole vocabulary.
   */
  readonly kept?: KeptIds;
}

/** The options of `policyLoss`, and how the logits lie and become log-probs. */
export type PolicyLossFromLogitsOptions<Name extends PolicyLossName> = PolicyLossOptionsOf<Name> & KeptLogitsOptions;

/** The results of `policyLoss` and `logprob`, and `gradLogits`. */
export type PolicyLossFromLogitsResult<Name extends PolicyLossName, L extends Logits> = PolicyLossResultOf<Name> &
  TokenLogitsResult<L>;

type Options = PolicyLossOptions & TokenLogitsOptions & AsyncOption & { readonly preset?: PresetName };
type AnyResult = PolicyLossResult & TokenLogitsResult;

/** One loss and its own arguments: a union the compiler cannot relate by itself. */
const evaluateNamed = policyLoss as unknown as (
  name: PolicyLossName,
  batch: PolicyBatch,
  options: PolicyLossOptions,
) => PolicyLossResult;

/** Where everything lies, checked as far as both ways need it. */
function read(op: string, name: PolicyLossName, batch: PolicyInputs, options: Options) {
  if (!policyLossNames.includes(name)) throw unknownName(op, "name", name, policyLossNames);
  for (const own of ["logProbs", "entropies"] as const)
    if ((batch as Partial<PolicyBatch>)[own] !== undefined)
      throw optionError(op, own, (batch as Partial<PolicyBatch>)[own], "nothing: they come from the logits");
  const { vocab, stride, dtype, temperature, scale, softcap, out, signal, ...loss } = options;
  const logits = { vocab, stride, dtype, temperature, scale, softcap, out, signal };
  return { loss: loss as PolicyLossOptions & { readonly preset?: PresetName }, logits };
}

type Read = ReturnType<typeof read>;

/** A loss that reads logits once, planned. */
function onePass(op: string, map: TokenMap<PolicyLossOptions>, batch: PolicyInputs, { loss, logits }: Read) {
  const resolved = map.resolve(loss);
  const call = { skeleton: "token", form: map.form(op, resolved) } as const;
  const plan = planPolicy(op, needPolicyInputs(op, batch), resolved, call);
  const conclude = ({ logProbs, entropies }: LogprobResult): PolicyLossResult =>
    policyResult(carryOut(op, plan, logProbs, entropies), resolved, map.metrics);
  return { terms: termsOf(op, plan), where: { ...logits, backend: resolved.backend }, conclude };
}

/** The map of a loss that reads logits once with these options. */
function oneTokenMap(op: string, name: PolicyLossName, { loss }: Read): TokenMap<PolicyLossOptions> | undefined {
  const map = tokenMaps.get(name);
  return map && seesTokensAlone(op, map, map.resolve(loss)) ? map : undefined;
}

/** The log-probs known, the loss is one of log-probs. */
const withLogProbs = (batch: PolicyInputs, { logProbs, entropies }: LogprobResult): PolicyBatch => ({
  ...batch,
  logProbs,
  entropies,
});

/** The options of logprob and logprobBackward. */
function rowsOf(op: string, logits: Logits, targets: TokenIds, batch: PolicyInputs, { loss, logits: given }: Read) {
  const { rows, mask } = needMaskedRows(op, batch);
  const { V } = needTokenLogits(op, logits, rows.n, given);
  const { vocab: _, out, ...rest } = given;
  const where = {
    ...rest,
    shape: [rows.n, V] as const,
    mask: mask ?? undefined,
    backend: loss.backend,
  };
  return { ids: needIds(op, "targets", targets, rows.n, rows.meaning), where, memory: out && { out } };
}

const gradientsOf = ({ gradLogProbs, gradEntropies }: PolicyLossResult) => ({
  gradLogProbs,
  gradEntropies,
});

function evaluate(
  op: string,
  name: PolicyLossName,
  logits: Logits,
  targets: TokenIds,
  batch: PolicyInputs,
  options: Options,
): AnyResult {
  const given = read(op, name, batch, options);
  const map = oneTokenMap(op, name, given);
  if (map) {
    const { terms, where, conclude } = onePass(op, map, batch, given);
    const found = differentiateLogits(op, logits, targets, terms, where);
    return { ...found, ...conclude(found) };
  }
  const { ids, where, memory } = rowsOf(op, logits, targets, batch, given);
  const state = logprob(logits, ids, where);
  const result = evaluateNamed(name, withLogProbs(batch, state), given.loss);
  return {
    ...state,
    ...result,
    gradLogits: logprobBackward(logits, ids, state, { ...where, ...gradientsOf(result), ...memory }),
  };
}

/** As evaluate, with log-probs over the ids that the sampler kept. */
function evaluateOverKept(
  op: string,
  name: PolicyLossName,
  logits: Logits,
  targets: TokenIds,
  batch: PolicyInputs,
  { kept, ...options }: Options & { readonly kept: KeptIds },
): AnyResult {
  const given = read(op, name, batch, options);
  const { ids, where, memory } = rowsOf(op, logits, targets, batch, given);
  const { signal: _, ...map } = where;
  const { logProbs, state } = evaluateKept(op, logits, ids, kept, map);
  const whole = { ...state.whole!, logProbs };
  const result = evaluateNamed(name, withLogProbs(batch, whole), given.loss);
  const gradients = { ...map, ...gradientsOf(result), ...memory };
  return { ...whole, ...result, gradLogits: differentiateKept(op, logits, ids, kept, state, gradients) };
}

async function evaluateAsync(
  op: string,
  name: PolicyLossName,
  logits: Logits,
  targets: TokenIds,
  batch: PolicyInputs,
  options: Options,
): Promise<AnyResult> {
  options.signal?.throwIfAborted();
  const given = read(op, name, batch, options);
  const map = oneTokenMap(op, name, given);
  if (map) {
    const { terms, where, conclude } = onePass(op, map, batch, given);
    const found = await differentiateLogitsAsync(op, logits, targets, terms, where);
    return { ...found, ...conclude(found) };
  }
  const { ids, where, memory } = rowsOf(op, logits, targets, batch, given);
  const state = await logprobAsync(logits, ids, where);
  const result = evaluateNamed(name, withLogProbs(batch, state), given.loss);
  return {
    ...state,
    ...result,
    gradLogits: await logprobBackwardAsync(logits, ids, state, { ...where, ...gradientsOf(result), ...memory }),
  };
}

/**
 * A policy loss by name as `policyLoss`, from the logits of the tokens: its value, its metrics, and its gradient for the logits, KL
 * penalty and entropy bonus included.
 *
 *     policyLossFromLogits("ppo", logits, targets, { oldLogProbs, advantages, mask, shape }, { clip: 0.2, out: logits })
 *
 * The same as `logprob`, `policyLoss` and `logprobBackward`. For the names of `onePassLossNames` a row of logits is read once: it
 * becomes its log-prob, its loss and its gradient while it is in the cache. The others need every row of a sequence, or of the
 * batch, before the first gradient, and make the three calls; so does a call with `kept`.
 *
 * @param logits float32, float16 or bfloat16: a row of the vocabulary for each token of `shape` or `offsets`
 * @param targets the id of each token, [n]; under the mask any
 * @param batch as that of `policyLoss`, without `logProbs` and `entropies`
 * @returns the results of `policyLoss` and of `logprob`, and `gradLogits`: `out` if given
 * @throws SurprisalError as the loss; ERR_SURPRISAL_RANGE for a target outside of the vocabulary
 */
export function policyLossFromLogits<Name extends PolicyLossName, L extends Logits>(
  name: Name,
  logits: L,
  targets: TokenIds,
  batch: PlainFields<PolicyLossFromLogitsBatch<Name>>,
  ...[options]: PolicyLossOptionsArgument<Name, KeptLogitsOptions>
): PolicyLossFromLogitsResult<Name, L> {
  const op = "policyLossFromLogits";
  const { kept, ...rest } = (options ?? {}) as Options & KeptLogitsOptions;
  const result = kept
    ? evaluateOverKept(op, name, logits, targets, batch as PolicyInputs, { ...rest, kept })
    : evaluate(op, name, logits, targets, batch as PolicyInputs, rest);
  return result as unknown as PolicyLossFromLogitsResult<Name, L>;
}

/**
 * `policyLossFromLogits` with the passes over the logits off the event loop. The arrays must not be touched until it resolves.
 */
export async function policyLossFromLogitsAsync<Name extends PolicyLossName, L extends Logits>(
  name: Name,
  logits: L,
  targets: TokenIds,
  batch: PlainFields<PolicyLossFromLogitsBatch<Name>>,
  ...[options]: PolicyLossOptionsArgument<Name, TokenLogitsOptions & AsyncOption>
): Promise<PolicyLossFromLogitsResult<Name, L>> {
  const result = await evaluateAsync(
    "policyLossFromLogitsAsync",
    name,
    logits,
    targets,
    batch as PolicyInputs,
    options ?? {},
  );
  return result as unknown as PolicyLossFromLogitsResult<Name, L>;
}
