// surprisal loss: a policy loss of rollouts with advantages, its metrics and its gradient.
import type { BackendChoice } from "../backend/backend";
import { policyLoss, type PolicyLossName, policyLossNames, type PolicyLossResult } from "../loss/policy";
import type { Rollout } from "../io";
import { needName, peek } from "./shell/arguments";
import type { Answer, Call, Command } from "./shell/command";
import { UsageError } from "./shell/exit-codes";
import { brief, facts, percent, table } from "./shell/table";
import { backendOf, BACKEND_OPTION } from "./backend-option";
import { Columns, type FieldChoice, readFieldChoice } from "./rollouts/columns";
import { figuresOf } from "./rollouts/figures";
import { type Batch, BATCH_OPTION, READ_OPTIONS, readBatches } from "./rollouts/read";
import { reserve, write, WRITE_OPTIONS } from "./rollouts/write";
import { LOSSES, type LossEntry } from "./tables/losses";
import { flagsOf, optionsFrom } from "./tables/option-kinds";

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

/** Advantages per token, else per rollout: what `surprisal advantages` writes. */
function advantagesOf(columns: Columns, ofRows: boolean): Given {
  if (ofRows) return { advantages: columns.need("rowAdvantages") };
  const perToken = columns.take("advantages");
  if (perToken) return { advantages: perToken, advantagesPer: "token" };
  const perRow = columns.take("rowAdvantages");
  if (perRow) return { advantages: perRow, advantagesPer: "row" };
  return { advantages: columns.need("advantages"), advantagesPer: "token" }; // says which rollout has none
}

function batchOf({ reads, ofRows = false }: LossEntry, columns: Columns): Given {
  const batch: Given = { offsets: columns.offsets(), ...advantagesOf(columns, ofRows) };
  for (const [name, how] of Object.entries(reads)) {
    if (name === "advantages") continue;
    const value = name === "mask" ? columns.mask() : how === "need" ? columns.need(name) : columns.take(name);
    if (value !== undefined) batch[name] = name === "termMask" || name === "rowMask" ? Uint8Array.from(value) : value;
  }
  return batch;
}

function withGradient(rollouts: readonly Rollout[], offsets: Int32Array, gradient: ArrayLike<number>): Rollout[] {
  return rollouts.map((rollout, row) => {
    const [begin, end] = [offsets[row]!, offsets[row + 1]!];
    return { ...rollout, meta: { ...rollout.meta, grad_logprobs: Array.from({ length: end - begin }, (_, t) => gradient[begin + t]!) } };
  });
}

function* keptOf(values: ArrayLike<number>, mask: Uint8Array | undefined): Generator<number> {
  for (let i = 0; i < values.length; ++i) if (mask?.[i] !== 0) yield values[i]!;
}

function evaluate(name: PolicyLossName, { label, source, rollouts }: Batch, given: Given, choice: FieldChoice, backend: BackendChoice | undefined): Evaluated {
  const entry: LossEntry = LOSSES[name];
  const columns = new Columns(rollouts, `--loss ${name}`, source, choice);
  const batch = batchOf(entry, columns);
  // A union over the names: the tables hold what each of them takes.
  const compute = policyLoss as unknown as (name: string, batch: Given, options: Given) => PolicyLossResult;
  const result = compute(name, batch, { ...given, ...(backend && { backend }) });
  const mask = columns.mask();
  const kept = Array.from(keptOf(result.clipped, mask));
  const perToken = result.ratios.length === result.gradLogProbs.length;
  const answer = {
    batch: label,
    rollouts: rollouts.length,
    tokens: kept.length,
    loss: result.loss,
    policyLoss: result.policyLoss,
    klLoss: result.klLoss,
    entropyLoss: result.entropyLoss,
    ratios: figuresOf(perToken ? keptOf(result.ratios, mask) : Array.from(result.ratios)),
    clipped: kept.length === 0 ? 0 : kept.reduce((sum, flag) => sum + flag, 0) / kept.length,
    gradientNorm: norm(result.gradLogProbs),
    metrics: result.metrics,
    fields: columns.used,
  };
  return { answer, rollouts: withGradient(rollouts, columns.offsets(), result.gradLogProbs) };
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
    outputs.map((output) => `wrote ${output}\n`).join("")
  );
}

async function run(call: Call): Promise<Answer> {
  const { args, progress, signal, outputs } = call;
  const given = args.text("loss");
  if (given === undefined) throw new UsageError(`--loss is missing, expected one of ${policyLossNames.join(", ")}`, { name: "--loss" });
  const name = needName("--loss", given, policyLossNames);
  const options = optionsFrom(args, LOSSES[name]);
  const fields = readFieldChoice(args.texts("field"));
  const backend = backendOf(args);
  const out = args.text("out");
  const place = out === undefined ? undefined : await reserve(call, out);
  const batches = await readBatches(call);
  progress.start(`computing ${name}`, "batches", batches.length);
  const evaluated: Evaluated[] = [];
  for (const batch of batches) {
    signal.throwIfAborted();
    evaluated.push(evaluate(name, batch, options, fields, backend));
    progress.advance(1);
    await new Promise(setImmediate); // a signal is noticed here
  }
  progress.end();
  const all = evaluated.flatMap(({ rollouts }) => rollouts);
  if (place) await write(call, out!, place, all, all.length);
  const answers = evaluated.map(({ answer }) => answer);
  return { json: { loss: name, options, batches: answers, outputs: outputs.names }, text: textOf(name, answers, outputs.names) };
}

export const loss: Command = {
  name: "loss",
  usage: "FILE… --loss NAME [options] [--out FILE]",
  summary: "a policy loss of rollouts with advantages: value, metrics, gradient",
  about: `Reads rollouts that have advantages (surprisal advantages writes them) and log-probs, and computes a policy loss as policyLoss
does. Losses: ${policyLossNames.slice(0, 8).join(" ")}
  ${policyLossNames.slice(8).join(" ")}
With --loss, this text lists the options of that loss; docs/loss has what they mean. The log-probs that the gradient is for are
recomputed_logprobs, else old_logprobs, else logprobs; --field logProbs=NAME takes others.`,
  options: {
    loss: { value: "NAME", short: "l", text: "which one" },
    options: { value: "JSON", text: "options of the loss as a JSON object, or a file with one; flags win" },
    field: { value: "ARG=FIELD", multiple: true, text: "take an argument of the loss from another field, such as logProbs=meta.new_logprobs" },
    ...WRITE_OPTIONS,
    ...BATCH_OPTION,
    ...READ_OPTIONS,
    ...BACKEND_OPTION,
  },
  moreOptions(args) {
    const word = peek(args, "loss", "l");
    const name = word === undefined ? undefined : needName("--loss", word, policyLossNames);
    return name && { title: `options of ${name} (docs/loss/${LOSSES[name].page}.md)`, options: flagsOf(LOSSES[name]) };
  },
  examples: [
    "surprisal loss advantages.jsonl --loss ppo --clip 0.2",
    "surprisal loss advantages.jsonl -l gspo --clip-low 3e-4 --clip-high 4e-4 --json",
    "surprisal loss advantages.jsonl -l ppo --clip 0.2 --kl '{\"coefficient\": 0.01}' --field logProbs=meta.new_logprobs -o gradients.jsonl",
  ],
  files: { least: 1, most: Infinity, what: "rollout files" },
  run,
};
