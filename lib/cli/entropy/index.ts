// surprisal entropy: entropies of rollouts, or of logits in a tensor file.
import type { Answer, Call, Command } from "../shell/command";
import { BACKEND_OPTION } from "../backend-option";
import { readFieldChoice } from "../rollouts/rollout-arguments";
import { type Batch, BATCH_OPTION, readBatches } from "../rollouts/read-batches";
import { READ_OPTIONS } from "../rollouts/read-flags";
import { UsageError } from "../shell/exit-codes";
import { brief, facts, table } from "../shell/table";
import { entropiesOfLogits, LOGITS_OPTIONS } from "./entropy-of-logits";
import { entropiesOfRollouts, type RolloutEntropies } from "./entropy-of-rollouts";

/** A tensor file by its name, or because --logits says that there are logits in it. */
const isTensorFile = (file: string): boolean => /\.(npz|npy|safetensors)$/i.test(file);

function textOf(answers: readonly RolloutEntropies[]): string {
  const rows = answers.map(({ batch, tokens, entropies: { mean, std, min, max }, quantiles: [, p5, median, p95] }) => [
    batch,
    String(tokens),
    ...[mean, std, min, p5!, median!, p95!, max].map(brief),
  ]);
  const [first] = answers;
  const course = first!.byPosition
    .filter(({ tokens }) => tokens > 0)
    .map(
      ({ from, to, mean }) => `  ${`${Math.round(100 * from)}–${Math.round(100 * to)} %`.padEnd(10)} ${brief(mean)}\n`,
    )
    .join("");
  return (
    `${table(["batch", "tokens", "mean", "std", "min", "p5", "median", "p95", "max"], rows)}\n` +
    (answers.length === 1 ? `mean by place in the completion, nats\n${course}` : "") +
    `\nread\n${facts(first!.fields)}`
  );
}

async function run(call: Call): Promise<Answer> {
  const { args } = call;
  const logits = args.text("logits") !== undefined || args.text("targets") !== undefined;
  if (logits || (args.files.every(isTensorFile) && args.text("format") === undefined)) return entropiesOfLogits(call);
  for (const name of ["temperature", "out"])
    if (args.text(name) !== undefined)
      throw new UsageError(`--${name} is for logits in a tensor file (.npz, .npy, .safetensors)`, {
        name: `--${name}`,
      });
  const fields = readFieldChoice(args.texts("field"));
  const batches: readonly Batch[] = await readBatches(call);
  const answers = batches.map((batch) => entropiesOfRollouts(batch, fields));
  return { json: { batches: answers }, text: textOf(answers) };
}

export const entropy: Command = {
  name: "entropy",
  usage: "FILE… [--json]   |   LOGITS.npz [--targets NAME] [--out FILE.npz]",
  summary: "entropies of rollouts, or entropies and log-probs from logits in a tensor file",
  about: `Of rollouts: the distribution of the recorded entropies, and their course along the completion. Of a tensor file with logits
[rows, vocabulary]: the entropy of each row, and with --targets the log-prob of its target, as logprob computes them; --out
writes them as tensors. In nats. An entropy is never estimated from a list of the likeliest tokens.`,
  options: {
    field: { value: "ARG=FIELD", multiple: true, text: "take the entropies from another field: entropies=meta.h" },
    ...LOGITS_OPTIONS,
    ...BATCH_OPTION,
    ...READ_OPTIONS,
    ...BACKEND_OPTION,
  },
  examples: [
    "surprisal entropy rollouts.jsonl",
    "surprisal entropy run/*.jsonl --batch file --json",
    "surprisal entropy logits.npz --targets ids --temperature 0.7 --out logprobs.safetensors",
  ],
  files: { least: 1, most: Infinity, what: "rollout files, or one tensor file" },
  run,
};
