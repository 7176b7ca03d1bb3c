// What a report is made of: steps of a run, their rollouts, and what was computed for them. Arrays per token belong to the
// completion, one number a token; whatever is absent is left out of the report, never guessed.
import type { Rollout } from "../io/record";

/** A run of tokens with a meaning of its own (a reasoning step, an answer), and what entropy modulation did to it. */
export interface ReportSpan {
  /** First token. */
  readonly begin: number;
  /** One past the last token. */
  readonly finish: number;
  /** What it is. Default: "step 1", "step 2", … by its place. */
  readonly label?: string;
  /** Mean entropy over the span, nats: the step entropy. */
  readonly entropy?: number;
  /** Factor of the span's own advantage: 1 leaves it. */
  readonly scale?: number;
  /** Clarity of the span, what the span before it is rewarded for. */
  readonly clarity?: number;
  /** Weight of the span's tokens in the update before modulation: the advantage at its first token. */
  readonly before?: number;
  /** The same after modulation. */
  readonly after?: number;
}

/**
 * One completion: the record that readers give, and what was computed for it since. Numbers per token have as many elements as the
 * completion has tokens. Rollouts of a step that share `group` are one group; those without a label are one group too. `tokens` are
 * shown as they are: not joined, not tokenised again; without them the page shows ids. `finishReason` "length" counts as cut off.
 */
export interface ReportRollout extends Rollout {
  /** Log-probs of the policy that is being trained, nats; [T]. */
  readonly logProbs?: ArrayLike<number>;
  /** Importance ratios; [T]. Default: exp(logProbs − oldLogProbs). */
  readonly ratios?: ArrayLike<number>;
  /** Where the objective was clipped: 1 above, −1 below, 0 not; [T]. */
  readonly clipped?: ArrayLike<number>;
  /** In ascending order, not overlapping. */
  readonly spans?: readonly ReportSpan[];
}

/** The rollouts of one step of a run: usually one file. */
export interface ReportStep {
  /** Shown at the slider: "step 100", a file's name. */
  readonly label: string;
  /** Training step, the x of curves. Default: the place in the run, from 0. */
  readonly step?: number;
  readonly rollouts: readonly ReportRollout[];
}

/** One run among those that are compared. */
export interface Run {
  /** Shown in legends: "baseline", the name of a folder. */
  readonly name: string;
  /** In the order of the run. */
  readonly steps: readonly ReportStep[];
}

/** A fact shown in the footer: a setting, a version. */
export type ReportFacts = Readonly<Record<string, string | number | boolean>>;

/** What `renderHtml` draws. */
export interface Report {
  /** Default "surprisal report". */
  readonly title?: string;
  /** In the order of the run. */
  readonly steps: readonly ReportStep[];
  /** Configuration and versions, for the footer. */
  readonly facts?: ReportFacts;
}
