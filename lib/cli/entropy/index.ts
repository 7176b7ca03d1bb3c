// surprisal entropy: entropies of rollouts, or of logits in a tensor file.
import { whichShard } from "../shards/which-shard";
import { sharedCommand } from "../shards/shared-command";
import type { SharedCommand, Steps } from "../shards/steps";
import type { Call } from "../shell/command";
import { BACKEND_OPTION } from "../backend-option";
import { readFieldChoice } from "../rollouts/rollout-arguments";
import { BATCH_OPTION, isOneBatch, readBatches } from "../rollouts/read-batches";
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

const ofLogits = ({ args }: Call): boolean =>
  args.text("logits") !== undefined ||
  args.text("targets") !== undefined ||
  (args.files.every(isTensorFile) && args.text("format") === undefined);

const ofRollouts: Steps<void, readonly RolloutEntropies[]> = {
  reserve({ args }) {
    for (const name of ["temperature", "out"])
      if (args.text(name) !== undefined)
        throw new UsageError(`--${name} is for logits in a tensor file (.npz, .npy, .safetensors)`, {
          name: `--${name}`,
        });
    readFieldChoice(args.texts("field"));
    return Promise.resolve();
  },

  async work(call) {
    const fields = readFieldChoice(call.args.texts("field"));
    const batches = await readBatches(call);
    return { data: batches.map((batch) => entropiesOfRollouts(batch, fields)) };
  },

  finish(call, _, data) {
    // Of one batch on several processes each has the answer of all.
    const answers = isOneBatch(call) ? data[0]! : data.flat();
    return Promise.resolve({ json: { batches: answers }, text: textOf(answers) });
  },
};

const shared = sharedCommand(
  {
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
  },
  ofRollouts,
);

export const entropy: SharedCommand = {
  ...shared,
  run(call) {
    if (!ofLogits(call)) return shared.run(call);
    const which = whichShard(call);
    if (which)
      throw new UsageError(
        which.kind === "part"
          ? "--shard is for rollouts; logits are computed a tensor file at a time"
          : "a job of several ranks is for rollouts; logits are computed a tensor file at a time, by one process each",
        { name: "--shard" },
      );
    return entropiesOfLogits(call);
  },
};
