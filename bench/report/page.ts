// docs/performance.md out of lines of results.
import { GOALS, judge } from "../goals";
import { GPU_GOALS } from "../gpu/goals";
import contracts from "../gpu/python/contracts.json";
import { predictedShare } from "./predicted";
import { ON_JS, OURS } from "../harness/names";
import { quantile } from "../harness/statistics";
import type { ResultLine, RunFacts } from "../record";
import { goalsTable, limitsList } from "./goals-table";
import { errors, milliseconds, number, spread, table } from "./markdown";

/** Lines of one file: one run on one machine. */
export interface ResultFile {
  readonly name: string;
  readonly lines: readonly ResultLine[];
}

const KERNELS: Readonly<Record<string, string>> = {
  logprob: "Logits to log-probs, entropies and back",
  loss: "Losses of tokens and sequences, and straight from logits",
  memory: "Where outputs come from: an arena, new arrays, memory that was used before",
  linear: "A linear head",
  scan: "Advantages and returns along rows",
  delim: "Spans between delimiters",
  group: "Group normalisation",
  ratio: "Ratios of sequences",
  divergence: "Divergences",
  reduce: "Moments, whitening and maps",
  select: "Quantiles, largest tokens and covariance",
  modulate: "Advantages modulated along spans",
  correction: "Two policies on the same tokens",
};
const TRANSFER = "transfer";

function whatOf({ op, shape, dtype, rowKind, threads }: ResultLine): string {
  const sizes = shape.sizes
    .map((size) => (size >= 1e6 && size % 1e6 === 0 ? size.toExponential(0).replace("+", "") : String(size)))
    .join(" × ");
  return [`\`${op}\``, `${shape.name} (${sizes})`, dtype, rowKind, threads > 1 ? `${threads} threads` : ""]
    .filter(Boolean)
    .join(", ");
}

/** The JavaScript backend stands with the others: plain loops are what it is held against. */
function isOwn({ contender, backend }: ResultLine): boolean {
  return contender.startsWith(OURS) && backend !== "js";
}

function ownTable(lines: readonly ResultLine[]): string[] {
  const own = lines.filter(isOwn);
  if (own.length === 0) return [];
  return table(
    ["what", "build", "time, p20–p80", "GB/s", "roof, GB/s", "share of the roof, p20–p80", "largest error", "extra MB"],
    own.map((line) => [
      whatOf(line),
      [line.level, line.contender === OURS ? "" : line.contender].filter(Boolean).join(": "),
      spread(line.time, milliseconds),
      line.bytes ? number(line.bytes.least / line.time.median / 1e6) : "–",
      line.roof ? `${number(line.roof.gigabytesPerSecond.median)} ${line.roof.kind}` : "–",
      line.share ? spread(line.share, (x) => x.toFixed(2)) : "–",
      errors(line.error),
      line.extraMegabytes === undefined ? "–" : number(Number(line.extraMegabytes.toFixed(1))),
    ]),
  );
}

function peerTable(lines: readonly ResultLine[]): string[] {
  const peers = lines.filter((line) => !isOwn(line));
  if (peers.length === 0) return [];
  return table(
    ["what", "who", "time, p20–p80", "surprisal is faster by, p20–p80", "largest error", "extra MB"],
    peers.map((line) => [
      whatOf(line),
      line.part === undefined
        ? line.contender
        : `${line.contender} (timed on ${number(100 * line.part)} % of the rows, scaled)`,
      spread(line.time, milliseconds),
      line.ratio ? `${line.ratio.median < 1 ? "**slower:** " : ""}${spread(line.ratio)}x` : "–",
      errors(line.error),
      line.extraMegabytes === undefined ? "–" : number(Math.round(line.extraMegabytes)),
    ]),
  );
}

function formulas(lines: readonly ResultLine[]): string[] {
  const found = new Map(
    lines.flatMap(({ op, dtype, bytes }) => (bytes ? [[`\`${op}\`, ${dtype}`, bytes.formula] as const] : [])),
  );
  return table(
    ["what", "least bytes"],
    [...found.entries()].map(([what, formula]) => [what, formula]),
  );
}

/** How quiet the machine was: a share that is not near 0 says that others used it too. */
function quietness(lines: readonly ResultLine[]): string[] {
  const seen = lines.flatMap(({ canary }) => canary ?? []);
  if (seen.length === 0) return [];
  const [median, p80] = [0.5, 0.8].map((share) => Math.round(100 * quantile(seen, share)));
  return [
    `Five runs of a fixed piece of work ahead of each case differed by ${median} % (median of the cases; 80th percentile ${p80} %).`,
  ];
}

/** What only a processor has. */
function processorFacts({ caches, pages, pinned, roofs }: RunFacts): string {
  return ` Caches: ${caches}. Pages: ${pages}. ${pinned ? "Pinned" : "Not pinned"} to cores. Roofs compiled for ${roofs}.`;
}

function section({ name, lines }: ResultFile): string[] {
  const [first] = lines;
  if (!first) return [];
  const { run, backend } = first;
  const onDevice = backend === "cuda";
  // A file of the JavaScript backend and plain loops alone is held to what is asked of it.
  const onJs = !lines.some(({ backend: of, contender }) => of !== "js" && contender.startsWith(OURS));
  const goals = GOALS.filter(({ match }) => !onJs || match.contender === ON_JS);
  const kernels = [...new Set(lines.map(({ kernel }) => kernel))];
  return [
    onDevice
      ? `## ${run.machine}: CUDA${run.through === undefined ? "" : `, from ${run.through}`}`
      : `## ${run.machine} (${run.roofs}), ${run.cores} cores: ${onJs ? "the JavaScript backend" : "CPU"}`,
    "",
    `Commit \`${run.commit}\`, ${run.date.slice(0, 10)}.${onDevice ? "" : processorFacts(run)}`,
    `Versions: ${Object.entries(run.versions)
      .map(([what, version]) => `${what} ${version}`)
      .join("; ")}.`,
    ...quietness(lines),
    `All figures: [\`bench/results/${name}\`](../bench/results/${name}).`,
    "",
    "### Goals",
    "",
    ...(onDevice
      ? goalsTable(
          GPU_GOALS.map((goal) => judge(goal, lines)),
          predictedShare,
        )
      : [
          ...goalsTable(goals.map((goal) => judge(goal, lines))),
          ...limitsList(goals.map((goal) => judge(goal, lines))),
        ]),
    ...kernels.flatMap((kernel) => {
      const own = lines.filter((line) => line.kernel === kernel);
      return [
        `### ${kernel === TRANSFER ? "Between host and device" : (KERNELS[kernel] ?? kernel)}`,
        "",
        ...ownTable(own),
        ...peerTable(own),
      ];
    }),
    "### Least bytes",
    "",
    ...formulas(lines),
  ];
}

function gpuSection(files: readonly ResultFile[]): string[] {
  const ran = new Set(
    files.flatMap(({ lines }) => lines.filter(({ backend }) => backend === "cuda").map(({ kernel }) => kernel)),
  );
  if (ran.size === 0)
    return [
      "## GPU",
      "",
      "No CUDA kernel has been timed on a GPU: there is no file of such results, and this page claims nothing about their speed.",
      "",
    ];
  const families = new Set(contracts.ops.map((op) => op.split("_")[0]!));
  const never = [...families].filter((family) => !ran.has(family));
  return [
    "## GPU",
    "",
    never.length === 0 ? "Every family has been timed on a GPU, above." : `Never timed on a GPU: ${never.join(", ")}.`,
    "",
  ];
}

export const CHART = "performance.svg";

export function toPage(files: readonly ResultFile[]): string {
  const any = files.some(({ lines }) => lines.length > 0);
  return [
    "<!-- Generated by `npm run bench`. Do not edit. -->",
    "",
    "# Performance",
    "",
    "Generated by `npm run bench` from the files in `bench/results`. A kernel is judged by the bytes that it cannot avoid (each input",
    "read once, each output written once) over its time, as a share of what plain loops get from memory in the same run on the same",
    "arrays: the *roof*.",
    "",
    "- Everything runs in one process, on one core unless threads are named, through the public functions on plain typed arrays.",
    "  In each repetition roof, kernel and peers run right after one another in an order that rotates. Shares and ratios are the",
    "  median of those within a repetition, with the 20th and 80th percentile; times are medians. The first run of each is left out.",
    "- Outputs are poisoned ahead of every run and compared with their float64 definition, element by element. A time without a",
    "  passed check is not in here. The largest error stands beside the speed; of a peer too.",
    "- Peers compute the same on the same bytes. torch runs twice: with the default malloc, and *tuned*, so that it keeps the memory of",
    "  temporaries, which is the fairer comparison. Forms have the names of the trainers that use them.",
    "- *surprisal on js*, listed among the peers, is this package with its JavaScript backend.",
    "- *Extra MB*: growth of resident memory at the peak of a call, with the outputs already there.",
    "- On a GPU the roof is a device copy of the same bytes in the same run; a time is that of a backlog of calls divided by their",
    "  number, on arrays that the L2 cache does not hold. Beside torch: calls through the C ABI, outputs compared with torch ahead",
    "  of it. From Node: graphs of calls on DeviceArrays between two events, outputs compared with the CPU backend; what goes",
    "  between host and device, and calls *on host arrays*, by the host's clock.",
    "- Rows of logits: *normal* N(0, 2.5); *peaky* N(0, 1) and one logit at 24 to 26; *masked* nine of ten ids at −∞.",
    "",
    ...(any
      ? [`![Share of the roof of the cases that a goal judges](${CHART})`, ""]
      : ["No result has been committed yet.", ""]),
    ...files.flatMap(section),
    ...gpuSection(files),
  ].join("\n");
}
