// Rollouts as JSON Lines, one canonical record a response:
//
//   group          label of the prompt; its responses share it
//   prompt_ids, token_ids
//   logprobs       as the sampler had them, one token after the other
//   old_logprobs   of the whole batch at once, before its update: what the ratios refer to
//   entropy        of the policy at each token, nats
//   mask           1 = a token of the policy (here all are)
//   reward, finish_reason ("stop": </answer> was reached, "length": cut)
//   meta           method, seed, step, the problem and the response as text
import type { MethodName } from "./methods";
import type { StepReport } from "./train";
import { ANSWER_END, problemText, tokenText } from "./task";

export interface RolloutRecord {
  readonly group: string;
  readonly prompt_ids: readonly number[];
  readonly token_ids: readonly number[];
  readonly logprobs: readonly number[];
  readonly old_logprobs: readonly number[];
  readonly entropy: readonly number[];
  readonly mask: readonly number[];
  readonly reward: number;
  readonly finish_reason: "stop" | "length";
  readonly meta: {
    readonly method: MethodName;
    readonly seed: number;
    readonly step: number;
    readonly problem: string;
    readonly response: string;
    readonly results: readonly number[];
  };
}

/** Steps whose rollouts are written: the first, every hundredth, and the last. All of them would be hundreds of megabytes. */
export function isRecorded(step: number, steps: number): boolean {
  return step % 100 === 0 || step === steps - 1;
}

export function recordsOf({ step, batch, samplerLogProbs }: StepReport, method: MethodName, seed: number): RolloutRecord[] {
  const { shape, tokens, lengths, mask, problems, groups, oldLogProbs, entropies, rewards } = batch;
  return problems.map((problem, row) => {
    const begin = row * shape[1];
    const own = (values: Float32Array | Int32Array | Uint8Array): number[] =>
      Array.from(values.subarray(begin, begin + lengths[row]!), (value) => Number(value.toPrecision(9))); // float32 has no more
    const ids = own(tokens);
    return {
      group: `${method}-${seed}-${step}-${groups[row]}`,
      prompt_ids: problem.digits,
      token_ids: ids,
      logprobs: own(samplerLogProbs),
      old_logprobs: own(oldLogProbs),
      entropy: own(entropies),
      mask: own(mask),
      reward: rewards[row]!,
      finish_reason: ids.at(-1) === ANSWER_END ? "stop" : "length",
      meta: { method, seed, step, problem: problemText(problem), response: tokenText(ids), results: problem.results },
    };
  });
}
