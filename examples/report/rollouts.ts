// Rollouts of a made-up training run, for trying the report: texts from wording.ts, entropies, log-probs and rewards drawn from a
// seeded generator so that they look like those of a policy that learns. They are not measurements of a model.
import type { ReportRollout } from "../../lib/report";
import { Random } from "../demo/random";
import { newProblem, type Problem, stepText, toolText } from "./wording";

export const STEP_START = "<step>";
export const STEP_END = "</step>";
export const ANSWER_START = "<answer>";
export const ANSWER_END = "</answer>";

export interface MadeUpOptions {
  readonly seed: number;
  /** Training steps, each with rollouts of its own. */
  readonly steps: readonly number[];
  readonly groups: number;
  readonly rolloutsPerGroup: number;
}

/** Words with the space before them, signs and line ends: pieces like those of a byte-pair vocabulary. */
const PIECES = /<\/?[a-z]+>| ?[\p{L}]{1,7}| ?\d|\n|\s|[^\s]/gu;

/** The same id for the same piece, below 32,000. */
export function pieceId(piece: string): number {
  let hash = 2166136261;
  for (const character of piece) hash = Math.imul(hash ^ character.codePointAt(0)!, 16777619) >>> 0;
  return hash % 32_000;
}

interface Draft {
  readonly tokens: string[];
  readonly mask: number[];
}

function add(draft: Draft, text: string, mine: 0 | 1): void {
  for (const [piece] of text.matchAll(PIECES)) {
    draft.tokens.push(piece);
    draft.mask.push(mine);
  }
}

/** Responses get surer, righter and, at first, longer. */
function respond(random: Random, { works }: Problem, skill: number): Draft & { readonly right: boolean } {
  const draft: Draft = { tokens: [], mask: [] };
  let slip = 0;
  const talkative = random.uniform() < 0.3 + 0.2 * skill;
  for (const [place, work] of works.entries()) {
    if (random.uniform() > 0.36 + 0.66 * skill + (talkative ? 0.22 : 0)) slip += 1 + random.below(9);
    add(
      draft,
      `${place > 0 && draft.tokens.at(-1) !== "\n" ? "\n" : ""}${STEP_START}${stepText(random, work, slip, talkative ? 1 + random.below(2) : 0)}${STEP_END}`,
      1,
    );
    if (place === 0 && random.uniform() < 0.4) add(draft, toolText(work), 0);
  }
  add(draft, `\n${ANSWER_START} ${works.at(-1)!.result + slip} ${ANSWER_END}`, 1);
  return { ...draft, right: slip === 0 };
}

/** How unsure a policy is at a piece: at the beginning of a sentence and at digits more than elsewhere, at tags hardly. */
function meanEntropy(piece: string, before: string): number {
  if (/^<\/?[a-z]+>$/.test(piece)) return 0.02;
  if (/^ ?\d$/.test(piece)) return /[=\d]/.test(before) ? 0.75 : 0.25;
  if (/[.:>\n]$/.test(before)) return 1.5;
  return /^\s|[×+−=.,]/.test(piece) ? 0.3 : 0.12;
}

const exponential = (random: Random): number => -Math.log(1 - random.uniform());

function rollout(random: Random, problem: Problem, group: string, step: number, skill: number): ReportRollout {
  const { tokens, mask, right } = respond(random, problem, skill);
  const heat = Math.max(0.25, 1.2 - 0.75 * skill);
  const entropies = Float64Array.from(
    tokens,
    (piece, t) => meanEntropy(piece, tokens[t - 1] ?? "\n") * heat * (0.25 + 0.75 * exponential(random)),
  );
  const oldLogProbs = entropies.map(
    (entropy) => -Math.min(9, (0.35 * entropy + 0.65 * entropy * exponential(random)) * 0.95 + 0.0004),
  );
  const reward = right ? 1 : random.uniform() < 0.3 ? 0.1 : 0;
  const pull = (right ? 0.02 : -0.03) * (1 - 0.5 * skill);
  return {
    group,
    step,
    prompt: problem.prompt,
    tokens,
    tokenIds: Int32Array.from(tokens, pieceId),
    mask: Uint8Array.from(mask),
    entropies,
    oldLogProbs,
    samplerLogProbs: oldLogProbs.map((logProb) =>
      Math.min(0, logProb + 0.012 * random.normal() * (1 + Math.abs(logProb))),
    ),
    logProbs: oldLogProbs.map((logProb) =>
      Math.min(-1e-5, logProb + (pull + 0.06 * random.normal()) * (0.3 + Math.abs(logProb))),
    ),
    reward,
    finishReason: "stop",
  };
}

/** All rollouts of the run; `step` says of which training step each is. */
export function madeUpRollouts({ seed, steps, groups, rolloutsPerGroup }: MadeUpOptions): ReportRollout[] {
  const random = new Random(seed, 0);
  return steps.flatMap((step, place) =>
    Array.from({ length: groups }, (_, group) => {
      const problem = newProblem(random);
      const skill = 0.1 + 0.55 * (place / Math.max(steps.length - 1, 1)) + 0.75 * (random.uniform() - 0.35);
      return Array.from({ length: rolloutsPerGroup }, () =>
        rollout(random, problem, `problem ${group + 1}`, step, skill),
      );
    }).flat(),
  );
}
