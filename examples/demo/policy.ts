// The network as the policy of an ExperienceMaker: it generates responses, and computes their logits again.
import { type BackendOption, type Collective, logprob } from "../../lib";
import type { Completion, GenerationRequest, Policy, Prompt, Samples } from "../../lib/experience";
import type { Network } from "./network";
import type { Random } from "./random";
import { batchOf, type Rollouts, sample } from "./sampler";
import { ANSWER_END, type Problem, problemText, tokenText, VOCABULARY } from "./task";

export const promptOf = (problem: Problem): Prompt<Problem> => ({
  ids: problem.digits,
  text: problemText(problem),
  data: problem,
});

export class NetworkPolicy implements Policy<Problem> {
  /** The responses of the last `logits` call, and the logits of all their places: the first update starts from these. */
  seen: { readonly batch: Rollouts; readonly logits: Float32Array } | undefined;

  constructor(
    readonly network: Network,
    readonly random: Random,
    readonly backend: BackendOption,
    readonly collective?: Collective,
  ) {}

  generate({ prompts, counts }: GenerationRequest<Prompt<Problem>>): Completion[][] {
    const problems = prompts.flatMap(({ data }, i) => Array.from({ length: counts[i]! }, () => data!));
    const { tokens, lengths, logits, mask, shape } = sample(this.network, this.random, problems, this.collective);
    const { logProbs } = logprob(logits, tokens, { shape: [mask.length, VOCABULARY], mask: mask, ...this.backend });
    const completions = Array.from(lengths, (length, row): Completion => {
      const own = <A extends Int32Array | Float32Array>(values: A): A =>
        values.slice(row * shape[1], row * shape[1] + length) as A;
      const tokenIds = own(tokens);
      return {
        tokenIds,
        samplerLogProbs: own(logProbs),
        text: tokenText(tokenIds),
        finishReason: tokenIds.at(-1) === ANSWER_END ? "stop" : "length",
      };
    });
    let next = 0;
    return counts.map((count) => completions.slice(next, (next += count)));
  }

  /** Of all places of the padded rows at once, so that the network is compiled for one size; the places with a token are given. */
  logits({ prompts, groups, tokenIds, offsets }: Samples<Problem>): Float32Array {
    const problems = Array.from(groups, (group) => prompts[group]!.data!);
    const batch = batchOf(
      problems,
      problems.map((_, row) => tokenIds.subarray(offsets[row], offsets[row + 1])),
    );
    const logits = this.network.logits(batch.features);
    this.seen = { batch, logits };
    return logits.filter((_, i) => batch.mask[Math.floor(i / VOCABULARY)] === 1);
  }
}
