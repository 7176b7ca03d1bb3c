// surprisal advantages: rollouts in, the same rollouts with advantages out.
import { type AdvantageName, advantageNames } from "../advantage/compute";
import { keptValues } from "../core/kept-values";
import ESTIMATORS from "../advantage/estimators";
import type { Rollout } from "../io";
import { groupRollouts, membersOf } from "../io/rollout-groups";
import { UsageError } from "./shell/exit-codes";
import { brief, facts, percent, table, wrote } from "./shell/table";
import { BACKEND_OPTION } from "./backend-option";
import { estimate, type Estimate } from "./rollouts/estimate";
import { figuresOf, joinFigures } from "./rollouts/figures";
import { type Batch, BATCH_OPTION, isOneBatch, readBatches } from "./rollouts/read-batches";
import { READ_OPTIONS } from "./rollouts/read-flags";
import { reserve, write, WRITE_OPTIONS } from "./rollouts/write-rollouts";
import type { ReportStep } from "../report";
import { estimatedStep, REPORT_OPTION, writeReport } from "./reporting";
import { sharedCommand } from "./shards/shared-command";
import type { Steps } from "./shards/steps";
import { namedFunctions } from "./tables/named-functions";

const of = { flag: "estimator", short: "e", suffix: "Advantage", folder: "advantage" };
const { list, early, settingsOf, moreOptions } = namedFunctions(of, advantageNames, ESTIMATORS);

interface BatchAnswer {
  readonly batch: string;
  readonly rollouts: number;
  readonly groups: number | null;
  /** Groups of two or more whose rewards are all the same. */
  readonly equalRewardGroups: number | null;
  readonly tokens: number | null;
  readonly advantages: ReturnType<typeof figuresOf>;
  /** Largest difference from the advantages that the file had, where it had any. */
  readonly differenceFromRecorded: number | null;
  readonly fields: Readonly<Record<string, string>>;
  readonly metrics: Readonly<Record<string, number>>;
}

/** One number per kept token, else per rollout. */
function* advantagesOf(rollouts: readonly Rollout[]): Generator<number> {
  for (const { advantage, advantages, mask } of rollouts)
    if (advantages) yield* keptValues(advantages, mask);
    else if (advantage !== undefined) yield advantage;
}

function difference(before: readonly Rollout[], after: readonly Rollout[]): number | null {
  let largest: number | null = null;
  before.forEach((old, row) => {
    const now = after[row]!;
    const pairs: [ArrayLike<number>, ArrayLike<number>] | undefined =
      old.advantages && now.advantages?.length === old.advantages.length
        ? [old.advantages, now.advantages]
        : old.advantage !== undefined && now.advantage !== undefined
          ? [[old.advantage], [now.advantage]]
          : undefined;
    if (!pairs) return;
    for (let t = 0; t < pairs[0].length; ++t) largest = Math.max(largest ?? 0, Math.abs(pairs[0][t]! - pairs[1][t]!));
  });
  return largest;
}

function groupFacts(rollouts: readonly Rollout[]): Pick<BatchAnswer, "groups" | "equalRewardGroups"> {
  if (rollouts.some(({ group }) => group === undefined)) return { groups: null, equalRewardGroups: null };
  const groups = membersOf(groupRollouts(rollouts)).map((members) => members.map((row) => rollouts[row]!.reward));
  const equal = groups.filter(
    (own) => own.length > 1 && own.every((reward) => reward !== undefined && reward === own[0]),
  );
  return { groups: groups.length, equalRewardGroups: equal.length };
}

function answerOf({ label, rollouts }: Batch, { rollouts: after, asRead, fields, metrics }: Estimate): BatchAnswer {
  const lengths = after.map(({ advantages }) => advantages?.length);
  return {
    batch: label,
    rollouts: rollouts.length,
    ...groupFacts(asRead),
    tokens: lengths.every((length) => length !== undefined)
      ? lengths.reduce((sum: number, length) => sum + length, 0)
      : null,
    advantages: figuresOf(advantagesOf(after)),
    differenceFromRecorded: difference(rollouts, after),
    fields,
    metrics,
  };
}

const SHOWN_BATCHES = 20;

function textOf(name: AdvantageName, answers: readonly BatchAnswer[], outputs: readonly string[]): string {
  const rows = answers
    .slice(0, SHOWN_BATCHES)
    .map(({ batch, rollouts, groups, equalRewardGroups, tokens, advantages: { mean, std, min, max } }) => [
      batch,
      String(rollouts),
      groups === null ? "" : String(groups),
      groups ? percent(equalRewardGroups! / groups) : "",
      tokens === null ? "" : String(tokens),
      ...[mean, std, min, max].map(brief),
    ]);
  const rest = answers.length > SHOWN_BATCHES ? `… and ${answers.length - SHOWN_BATCHES} more; --json has all\n` : "";
  const [first] = answers;
  const recorded = answers.flatMap(({ differenceFromRecorded }) => differenceFromRecorded ?? []);
  return (
    `${table(["batch", "rollouts", "groups", "equal rewards", "tokens", "mean", "std", "min", "max"], rows)}${rest}` +
    `\n${name} read\n${facts(first!.fields)}` +
    (answers.length === 1 && Object.keys(first!.metrics).length > 0 ? `\nmetrics\n${facts(first!.metrics)}` : "") +
    (recorded.length > 0
      ? `\nlargest difference from the advantages in the file: ${brief(recorded.reduce((most, one) => Math.max(most, one)))}\n`
      : "") +
    wrote(outputs)
  );
}

interface Place {
  readonly place: Awaited<ReturnType<typeof reserve>> | undefined;
  readonly page: string | undefined;
}

interface Data {
  readonly answers: readonly BatchAnswer[];
  /** For the page, where one is asked for. */
  readonly steps: readonly ReportStep[];
}

/** One batch that lay on several processes, from the answers of each about its own rollouts. */
function joinAnswers(parts: readonly BatchAnswer[]): BatchAnswer {
  const sum = (of: (answer: BatchAnswer) => number | null): number | null =>
    parts.reduce<number | null>((total, part) => {
      const own = of(part);
      return total === null || own === null ? null : total + own;
    }, 0);
  const differences = parts.flatMap(({ differenceFromRecorded }) => differenceFromRecorded ?? []);
  return {
    ...parts[0]!,
    rollouts: sum(({ rollouts }) => rollouts)!,
    groups: sum(({ groups }) => groups),
    equalRewardGroups: sum(({ equalRewardGroups }) => equalRewardGroups),
    tokens: sum(({ tokens }) => tokens),
    advantages: joinFigures(parts.map(({ advantages: own }) => own)),
    differenceFromRecorded: differences.length === 0 ? null : Math.max(...differences),
  };
}

const steps: Steps<Place, Data> = {
  early,

  async reserve(call) {
    settingsOf(call);
    const { args, outputs } = call;
    const [out, report] = [args.text("out"), args.text("report")];
    const place = out === undefined ? undefined : await reserve(call, out);
    return { place, page: report === undefined ? undefined : await outputs.add(report) };
  },

  async work(call) {
    const { args, progress, signal } = call;
    const settings = settingsOf(call);
    const drawn = args.text("report") !== undefined;
    const batches = await readBatches(call);
    progress.start(`computing ${settings.name}`, "batches", batches.length);
    const answers: BatchAnswer[] = [];
    const rollouts: Rollout[] = [];
    const pages: ReportStep[] = [];
    for (const batch of batches) {
      signal.throwIfAborted();
      const { source, collective } = batch;
      if (collective && drawn)
        throw new UsageError("--report draws whole batches: --batch step or file, or surprisal report of the output", {
          name: "--report",
        });
      const result = estimate({ ...settings, source, collective }, batch.rollouts);
      for (const rollout of result.rollouts) rollouts.push(rollout);
      if (drawn) pages.push(estimatedStep(batch.label, result));
      answers.push(answerOf(batch, result));
      progress.advance(1);
      await new Promise(setImmediate); // a signal is noticed here
    }
    progress.end();
    return { data: { answers, steps: pages }, rollouts };
  },

  async finish(call, { place, page }, data, rows) {
    const { args, outputs } = call;
    const { name, options } = settingsOf(call);
    const all = data.flatMap(({ answers }) => answers);
    const answers = isOneBatch(call) ? [joinAnswers(all)] : all;
    const written = place && (await write(call, args.text("out")!, place, rows.rollouts, rows));
    if (page !== undefined)
      await writeReport(
        page,
        data.flatMap(({ steps: own }) => own),
        { estimator: name, ...options, files: args.files.join(", ") },
      );
    return {
      json: { estimator: name, options, batches: answers, outputs: outputs.names, written },
      text: textOf(name, answers, outputs.names),
    };
  },
};

export const advantages = sharedCommand(
  {
    name: "advantages",
    usage: "FILE… --estimator NAME [options] [--out FILE] [--report FILE]",
    summary: "advantages of rollouts by any estimator, into a file and a report",
    about: `Reads rollouts, computes their advantages as computeAdvantages does, and writes the rollouts with "advantage" (one a
rollout) and "advantages" (one a token) in them. Estimators:
${list}
With --estimator, this text lists the options of that estimator; docs/advantage has what they mean.`,
    options: {
      estimator: { value: "NAME", short: "e", text: "the estimator to compute with" },
      list: { text: "the estimators, a line each, and nothing else" },
      options: { value: "JSON", text: "options of the estimator as a JSON object, or a file with one; flags win" },
      field: {
        value: "ARG=FIELD",
        multiple: true,
        text: "take an argument of the estimator from another field, such as oldLogProbs=sampler_logprobs or values=meta.v",
      },
      ...WRITE_OPTIONS,
      ...REPORT_OPTION,
      ...BATCH_OPTION,
      ...READ_OPTIONS,
      ...BACKEND_OPTION,
    },
    moreOptions,
    examples: [
      "surprisal advantages rollouts.jsonl --estimator empg --out out.parquet --report report.html",
      "surprisal advantages step_*.jsonl --estimator grpo --preset verl --out advantages.jsonl",
      "surprisal advantages rollouts.jsonl -e egpo --mode answer --think-end 151668 --json",
      "surprisal advantages rollouts.jsonl -e gae --gamma 1 --lambda 0.95 --field values=meta.critic -o out.npz",
    ],
    files: { least: 1, most: Infinity, what: "rollout files", unless: "list" },
  },
  steps,
);
