// surprisal loss: a policy loss of rollouts with advantages, its metrics and its gradient.
import type { BackendPreference } from "../backend/backend";
import { keptValues } from "../core/kept-values";
import type { Reading } from "../core/option-kinds";
import { policyLoss, type PolicyLossName, policyLossNames, type PolicyLossResult } from "../loss/policy";
import LOSSES from "../loss/policy/losses";
import type { Rollout } from "../io";
import { brief, facts, percent, table, wrote } from "./shell/table";
import { BACKEND_OPTION } from "./backend-option";
import { type FieldChoice, RolloutArguments } from "./rollouts/rollout-arguments";
import { figuresOf } from "./rollouts/figures";
import { type Batch, BATCH_OPTION, needWholeBatch, readBatches } from "./rollouts/read-batches";
import { READ_OPTIONS } from "./rollouts/read-flags";
import { reserve, write, WRITE_OPTIONS } from "./rollouts/write-rollouts";
import { sharedCommand } from "./shards/shared-command";
import type { Steps } from "./shards/steps";
import { namedFunctions } from "./tables/named-functions";

interface BatchAnswer {
  readonly batch: string;
  readonly rollouts: number;
  readonly tokens: number;
  readonly loss: number;
  readonly policyLoss: number;
  readonly klLoss: number;
  readonly entropyLoss: number;
  readonly ratios: ReturnType<typeof figuresOf>;
  /** Share of the kept tokens whose gradient clipping cuts off. */
  readonly clipped: number;
  /** Length of the gradient as one vector. */
  readonly gradientNorm: number;
  readonly metrics: Readonly<Record<string, number>>;
  readonly fields: Readonly<Record<string, string>>;
}

interface Evaluated {
  readonly answer: BatchAnswer;
  readonly rollouts: readonly Rollout[];
}

type Given = Record<string, unknown>;

/** An entry of the table, whatever its batch and options. */
interface LossEntry {
  readonly reads: Readonly<Record<string, Reading>>;
  readonly ofRows?: boolean;
}

const of = { flag: "loss", short: "l", suffix: "Loss", folder: "loss" };
const { list, early, settingsOf, moreOptions } = namedFunctions(of, policyLossNames, LOSSES);

/** Advantages per token, else per rollout: what `surprisal advantages` writes. */
function advantagesOf(read: RolloutArguments, ofRows: boolean): Given {
  if (ofRows) return { advantages: read.need("rowAdvantages") };
  const perToken = read.take("advantages");
  if (perToken) return { advantages: perToken, advantagesPer: "token" };
  const perRow = read.take("rowAdvantages");
  if (perRow) return { advantages: perRow, advantagesPer: "row" };
  return { advantages: read.need("advantages"), advantagesPer: "token" }; // says which rollout has none
}

function batchOf({ reads, ofRows = false }: LossEntry, read: RolloutArguments): Given {
  const batch: Given = { offsets: read.offsets, ...advantagesOf(read, ofRows) };
  for (const [name, how] of Object.entries(reads)) {
    if (name === "advantages") continue;
    const value =
      name === "mask"
        ? read.mask
        : name === "groups"
          ? read.groups
          : how === "need"
            ? read.need(name)
            : read.take(name);
    if (value !== undefined) batch[name] = name === "termMask" || name === "rowMask" ? Uint8Array.from(value) : value;
  }
  return batch;
}

function withGradient({ rollouts, columns }: RolloutArguments, gradient: ArrayLike<number>): Rollout[] {
  const parts = columns.cut(gradient);
  return rollouts.map((rollout, row) => ({
    ...rollout,
    meta: { ...rollout.meta, grad_logprobs: Array.from(parts[row]!) },
  }));
}

function evaluate(
  name: PolicyLossName,
  { label, source, rollouts }: Batch,
  given: Given,
  choice: FieldChoice,
  backend: BackendPreference | undefined,
): Evaluated {
  const entry: LossEntry = LOSSES[name];
  const read = new RolloutArguments(rollouts, `--loss ${name}`, source, choice);
  const batch = batchOf(entry, read);
  // A union over the names: the tables hold what each of them takes.
  const compute = policyLoss as unknown as (name: string, batch: Given, options: Given) => PolicyLossResult;
  const result = compute(name, batch, { ...given, backend });
  const mask = read.mask;
  const kept = keptValues(result.clipped, mask);
  const perToken = result.ratios.length === result.gradLogProbs.length;
  const answer = {
    batch: label,
    rollouts: rollouts.length,
    tokens: kept.length,
    loss: result.loss,
    policyLoss: result.policyLoss,
    klLoss: result.klLoss,
    entropyLoss: result.entropyLoss,
    ratios: figuresOf(perToken ? keptValues(result.ratios, mask) : Array.from(result.ratios)),
    clipped: kept.length === 0 ? 0 : kept.reduce((sum, flag) => sum + flag, 0) / kept.length,
    gradientNorm: norm(result.gradLogProbs),
    metrics: result.metrics,
    fields: read.used,
  };
  return { answer, rollouts: withGradient(read, result.gradLogProbs) };
}

/** The length of a vector. */
function norm(values: ArrayLike<number>): number {
  let squares = 0;
  for (let i = 0; i < values.length; ++i) squares += values[i]! * values[i]!;
  return Math.sqrt(squares);
}

function textOf(name: PolicyLossName, answers: readonly BatchAnswer[], outputs: readonly string[]): string {
  const rows = answers.map(({ batch, rollouts, tokens, loss, klLoss, entropyLoss, ratios, clipped, gradientNorm }) => [
    batch,
    String(rollouts),
    String(tokens),
    ...[loss, klLoss, entropyLoss, ratios.min, ratios.max].map(brief),
    percent(clipped),
    brief(gradientNorm),
  ]);
  const { fields, metrics } = answers[0]!;
  const same = fields["logProbs"] !== undefined && fields["logProbs"] === fields["oldLogProbs"];
  return (
    table(["batch", "rollouts", "tokens", "loss", "KL", "entropy", "ratio min", "max", "clipped", "|gradient|"], rows) +
    `\n${name} read\n${facts(fields)}` +
    (same ? "  logProbs and oldLogProbs are the same field: every ratio is 1\n" : "") +
    (answers.length === 1 ? `\nmetrics\n${facts(metrics)}` : "") +
    wrote(outputs)
  );
}

type Place = Awaited<ReturnType<typeof reserve>> | undefined;

const steps: Steps<Place, readonly BatchAnswer[]> = {
  early,

  async reserve(call) {
    settingsOf(call);
    const out = call.args.text("out");
    return out === undefined ? undefined : reserve(call, out);
  },

  async work(call) {
    const { progress, signal } = call;
    const { name, options, fields, backend } = settingsOf(call);
    const batches = await readBatches(call);
    progress.start(`computing ${name}`, "batches", batches.length);
    const answers: BatchAnswer[] = [];
    const all: Rollout[] = [];
    for (const batch of batches) {
      signal.throwIfAborted();
      needWholeBatch(batch, "a loss is of whole batches");
      const { answer, rollouts } = evaluate(name, batch, options, fields, backend);
      answers.push(answer);
      for (const rollout of rollouts) all.push(rollout);
      progress.advance(1);
      await new Promise(setImmediate); // a signal is noticed here
    }
    progress.end();
    return { data: answers, rollouts: all };
  },

  async finish(call, place, data, rows) {
    const { args, outputs } = call;
    const { name, options } = settingsOf(call);
    if (place) await write(call, args.text("out")!, place, rows.rollouts, rows);
    const answers = data.flat();
    return {
      json: { loss: name, options, batches: answers, outputs: outputs.names },
      text: textOf(name, answers, outputs.names),
    };
  },
};

export const loss = sharedCommand(
  {
    name: "loss",
    usage: "FILE… --loss NAME [options] [--out FILE]",
    summary: "a policy loss of rollouts with advantages: value, metrics, gradient",
    about: `Reads rollouts that have advantages (surprisal advantages writes them) and log-probs, and computes a policy loss as policyLoss
does. Losses:
${list}
With --loss, this text lists the options of that loss; docs/loss has what they mean. The log-probs that the gradient is for are
recomputed_logprobs, else old_logprobs, else sampler_logprobs; --field logProbs=NAME takes others.`,
    options: {
      loss: { value: "NAME", short: "l", text: "the loss to compute" },
      list: { text: "the losses, a line each, and nothing else" },
      options: { value: "JSON", text: "options of the loss as a JSON object, or a file with one; flags win" },
      field: {
        value: "ARG=FIELD",
        multiple: true,
        text: "take an argument of the loss from another field, such as logProbs=meta.new_logprobs",
      },
      ...WRITE_OPTIONS,
      ...BATCH_OPTION,
      ...READ_OPTIONS,
      ...BACKEND_OPTION,
    },
    moreOptions,
    examples: [
      "surprisal loss advantages.jsonl --loss ppo --clip 0.2",
      "surprisal loss advantages.jsonl -l gspo --clip-low 3e-4 --clip-high 4e-4 --json",
      "surprisal loss advantages.jsonl -l ppo --clip 0.2 --kl '{\"coefficient\": 0.01}' --field logProbs=meta.new_logprobs -o gradients.jsonl",
    ],
    files: { least: 1, most: Infinity, what: "rollout files", unless: "list" },
  },
  steps,
);
