// What the kernels are held to, as data: the figure that must be reached and the one that is aimed at.
import { levelContender, ON_JS, ON_WASM, ONE_THREAD, OURS, REUSED } from "./harness/names";
import type { ResultLine } from "./record";
import { LOGITS, ROLLOUTS, type Shape, SMALL } from "./shapes";

/** Which lines a goal is about: all that agree in what is given. */
export interface Match {
  readonly kernels?: readonly string[];
  readonly op?: string;
  readonly dtype?: string;
  readonly rowKind?: string;
  readonly shapes?: readonly Shape[];
  /** Least vocabulary of [rows, vocabulary]. */
  readonly vocab?: number;
  /** Least number of elements. */
  readonly elements?: number;
  readonly threads?: number;
  /** Begins so. Default: exactly "surprisal". */
  readonly contender?: string;
  /** Whoever is not this package, in place of a contender. */
  readonly peers?: true;
}

export type Figure = "share" | "ratio" | "slowdown" | "milliseconds" | "megabytes";

export interface Goal {
  readonly says: string;
  readonly match: Match;
  /** share: of the roof; ratio: a contender's time over ours; slowdown: ours over the contender's; the rest as they say. */
  readonly figure: Figure;
  readonly must: number;
  readonly aim?: number;
  /** Of a ratio: begins the name of the contender whose time is divided by that of the match's, in the same case. */
  readonly against?: string;
  /** Judged only where two threads get this much more from memory than one. */
  readonly roofScales?: number;
  /** The loop of a CUDA kernel whose share is predicted by its instructions, by its key in native/cuda/counts.json. */
  readonly kernel?: string;
}

const share = (says: string, match: Match, must: number, aim?: number): Goal => ({
  says,
  match: { threads: 1, ...match },
  figure: "share",
  must,
  ...(aim !== undefined && { aim }),
});
const faster = (says: string, match: Match, must: number): Goal => ({
  says,
  match: { threads: 1, ...match },
  figure: "ratio",
  must,
});

const { qwen, llama2, small, oneToken } = LOGITS;
const forward = { op: "logprob", dtype: "float32" } as const;
const halves = { op: "logprob", dtype: "bfloat16", rowKind: "normal" } as const;
/** The shapes on which peers are compared. */
const largeForward = { ...forward, shapes: [qwen, llama2], rowKind: "normal" } as const;
const rollouts = "512 rollouts";
const PLAIN_JAVASCRIPT = "plain JavaScript";

export const GOALS: readonly Goal[] = [
  share("forward, float32, V ≥ 100K", { ...forward, shapes: [qwen], rowKind: "normal" }, 0.9, 0.97),
  share("forward, float32, V = 32,000", { ...forward, shapes: [llama2], rowKind: "normal" }, 0.87, 0.92),
  share("forward, float32, V = 4,096", { ...forward, shapes: [small], rowKind: "normal" }, 0.75, 0.85),
  share("forward, bfloat16, V ≥ 100K", { ...halves, shapes: [qwen] }, 0.62, 0.75),
  share("forward, bfloat16, V = 32,000", { ...halves, shapes: [llama2] }, 0.6, 0.75),
  share("forward, bfloat16, V = 4,096", { ...halves, shapes: [small] }, 0.5, 0.75),
  share("forward, float32, one row in the cache", { ...forward, shapes: [oneToken] }, 0.5),
  share("backward, float32", { op: "logprobBackward", dtype: "float32", shapes: [qwen], rowKind: "normal" }, 0.8, 0.95),
  share(
    "backward, float32, in place",
    { op: "logprobBackward, in place", dtype: "float32", shapes: [qwen] },
    0.8,
    0.95,
  ),
  share(
    "backward, bfloat16",
    { op: "logprobBackward", dtype: "bfloat16", shapes: [qwen], rowKind: "normal" },
    0.8,
    0.95,
  ),
  share(
    "backward, bfloat16, in place",
    { op: "logprobBackward, in place", dtype: "bfloat16", shapes: [qwen] },
    0.65,
    0.95,
  ),
  {
    says: "backward from an arena, against memory that was used before",
    match: { op: "logprobBackward, from an arena", threads: 1, contender: REUSED },
    figure: "slowdown",
    must: 1.1,
  },
  {
    says: "backward into new arrays, against memory that was used before",
    match: { op: "logprobBackward, into new arrays", threads: 1, contender: REUSED },
    figure: "slowdown",
    must: 2.5,
  },
  {
    says: "loss from logits, against forward, loss and backward one after the other",
    match: { op: "policyLossFromLogits", dtype: "float32", threads: 1, contender: `${OURS}: forward, loss, backward` },
    figure: "ratio",
    must: 1.15,
    aim: 1.3,
  },
  {
    says: "rows with 90 % at −∞, against plain rows",
    match: { op: "logprob", dtype: "float32", rowKind: "masked", contender: `${OURS} on rows without −∞`, threads: 1 },
    figure: "slowdown",
    must: 1.3,
    aim: 1.1,
  },
  share("GAE, any rows × steps", { op: "gae" }, 0.7, 0.9),
  share("discounted returns, any rows × steps", { op: "discountedReturns" }, 0.7, 0.9),
  share(
    "discounted returns, rows of 100 to 128",
    { op: "discountedReturns", shapes: [ROLLOUTS.short, ROLLOUTS.odd] },
    0.75,
    0.9,
  ),
  share("spans, int32, 1e7 tokens and more", { op: "findSpans", dtype: "int32", elements: 1e7 }, 0.7, 0.95),
  share("spans, int64, 1e7 tokens and more", { op: "findSpans", dtype: "int64", elements: 1e7 }, 0.85, 0.95),
  share(
    "group normalisation, groups of 8",
    { op: "groupNormalize", shapes: [{ name: "groups of 8", sizes: [] }] },
    0.7,
    0.85,
  ),
  share(
    "group normalisation, groups of 64",
    { op: "groupNormalize", shapes: [{ name: "groups of 64", sizes: [] }] },
    0.7,
    0.85,
  ),
  share("token loss with gradient", { op: "tokenLoss, clip, with gradient" }, 0.5, 0.8),
  share("divergence", { kernels: ["divergence"], op: "divergence, KL(teacher ‖ student)" }, 0.35, 0.8),
  share("correction", { kernels: ["correction"] }, 0.5, 0.8),
  share("sequence ratios", { op: "logRatio, sequence" }, 0.5, 0.85),
  share("sequence objective with gradient", { op: "clippedObjective, sequence, with gradient" }, 0.5, 0.85),
  share("forward, float32, AVX2 alone", { ...forward, shapes: [qwen], contender: levelContender("avx2") }, 0.45, 0.6),
  share(
    "forward, float32, baseline x86-64",
    { ...forward, shapes: [qwen], contender: levelContender("baseline") },
    0.3,
    0.4,
  ),
  {
    says: "forward, float32, WebAssembly, against baseline x86-64",
    match: { ...forward, shapes: [qwen], rowKind: "normal", threads: 1, contender: ON_WASM },
    figure: "ratio",
    against: levelContender("baseline"),
    must: 0.5,
    aim: 1,
  },
  {
    says: "forward, float32, WebAssembly, against plain JavaScript",
    match: { ...forward, shapes: [qwen], rowKind: "normal", threads: 1, contender: ON_WASM },
    figure: "ratio",
    against: PLAIN_JAVASCRIPT,
    must: 4,
  },
  {
    says: "the JavaScript backend, against plain loops of the same formula",
    match: { threads: 1, contender: ON_JS },
    figure: "ratio",
    against: PLAIN_JAVASCRIPT,
    must: 1,
    aim: 1.5,
  },
  { says: "two threads, against one", match: { contender: ONE_THREAD }, figure: "ratio", must: 1.6, roofScales: 1.8 },
  {
    says: "extra memory of a call, MB",
    match: { kernels: ["logprob", "scan", "ratio"], threads: 1 },
    figure: "megabytes",
    must: 1,
  },
  {
    says: "a call on one group of 8, ms",
    match: { op: "groupNormalize, call overhead" },
    figure: "milliseconds",
    must: 0.001,
  },
  {
    says: "a call on 64 × 64 ratios of tokens with gradient, ms",
    match: { op: "clippedObjective, token, call overhead" },
    figure: "milliseconds",
    must: 0.008,
    aim: 0.005,
  },
  {
    says: "a call on 64 tokens or fewer, ms",
    match: { shapes: [SMALL.tokens], threads: 1 },
    figure: "milliseconds",
    must: 0.0015,
    aim: 0.0007,
  },
  {
    says: 'require("surprisal") and the first call, ms',
    match: { op: 'require("surprisal") and the first call' },
    figure: "milliseconds",
    must: 15,
    aim: 10,
  },
  {
    says: "EMPG of 1e6 tokens, end to end, ms",
    match: { op: "empgAdvantage, end to end", threads: 1 },
    figure: "milliseconds",
    must: 5,
  },
  faster("EMPG, against the published form in torch", { op: "empgAdvantage, end to end", contender: "torch" }, 20),
  {
    says: "every peer, every case",
    match: { threads: 1, peers: true },
    figure: "ratio",
    must: 1,
    aim: 5,
  },
  {
    says: "a call on 64 ratios of 64 tokens with gradient, ms",
    match: { op: "clippedObjective, sequence, call overhead" },
    figure: "milliseconds",
    must: 0.003,
  },
  faster("forward, against torch tuned", { ...largeForward, contender: "torch tuned" }, 9),
  faster("forward, against onnxruntime", { ...largeForward, contender: "onnxruntime" }, 8),
  faster("forward, against numpy", { ...largeForward, contender: "numpy" }, 6),
  faster("forward, against plain JavaScript", { ...largeForward, contender: PLAIN_JAVASCRIPT }, 70),
  faster(
    "backward, against torch by hand, tuned",
    { op: "logprobBackward", dtype: "float32", contender: "torch tuned: by hand" },
    4.5,
  ),
  faster(
    "GAE, against the trainers' loop",
    { op: "gae", shapes: [{ name: rollouts, sizes: [] }], contender: "torch tuned: trainers' loop" },
    100,
  ),
  faster("spans, against numpy", { op: "findSpans", dtype: "int32", elements: 1e7, contender: "numpy" }, 4),
  faster("spans, against torch", { op: "findSpans", dtype: "int32", elements: 1e7, contender: "torch tuned" }, 10),
  ...[
    ["numpy's", "numpy with BLAS"],
    ["torch's", "torch tuned"],
  ].flatMap(([whose, contender]): Goal[] => {
    const head = { threads: 1, contender: contender! } as const;
    return [
      {
        says: `linear head, forward, against ${whose} matrix product alone`,
        match: { op: "linearLogprob", dtype: "float32", ...head },
        figure: "slowdown",
        must: 1.15,
        aim: 1,
      },
      {
        says: `linear head, forward, bfloat16, against ${whose} matrix product of float32 alone`,
        match: { op: "linearLogprob", dtype: "bfloat16", ...head },
        figure: "slowdown",
        must: 0.8,
        aim: 0.55,
      },
      {
        says: `linear head, forward and backward, against ${whose} five products alone`,
        match: { op: "linearLogprob, forward and backward", ...head },
        figure: "slowdown",
        must: 1.2,
        aim: 1,
      },
    ];
  }),
  faster("group normalisation, against torch", { op: "groupNormalize", contender: "torch tuned" }, 30),
];

/** What a goal sees of a line, which a case has before it is run. */
export type Described = Pick<ResultLine, "kernel" | "op" | "dtype" | "rowKind" | "threads" | "contender" | "shape">;

export function matches(line: Described, match: Match): boolean {
  const { kernels, shapes, vocab, elements, contender, peers } = match;
  const same = (["op", "dtype", "rowKind", "threads"] as const).every(
    (field) => match[field] === undefined || match[field] === line[field],
  );
  const who = peers
    ? !line.contender.startsWith(OURS)
    : contender === undefined
      ? line.contender === OURS
      : line.contender.startsWith(contender);
  return (
    same &&
    who &&
    (!kernels || kernels.includes(line.kernel)) &&
    (!shapes || shapes.some(({ name }) => name === line.shape.name)) &&
    (vocab === undefined || (line.shape.sizes[1] ?? 0) >= vocab) &&
    (elements === undefined || line.shape.sizes.reduce((a, b) => a * b, 1) >= elements)
  );
}

export function figureOf(line: ResultLine, figure: Figure): number | undefined {
  switch (figure) {
    case "share":
      return line.share?.median;
    case "ratio":
      return line.ratio?.median;
    case "slowdown":
      return line.ratio && 1 / line.ratio.median;
    case "milliseconds":
      return line.time.median;
    case "megabytes":
      return line.extraMegabytes;
  }
}

/** Whether a figure is better the smaller it is. */
export function isCost(figure: Figure): boolean {
  return figure === "slowdown" || figure === "milliseconds" || figure === "megabytes";
}

export interface Judged {
  readonly goal: Goal;
  /** The worst figure; undefined without one. */
  readonly value?: number;
  /** The line it is from. */
  readonly line?: ResultLine;
  readonly verdict: "aim reached" | "reached" | "missed" | "not measured" | "not judged";
  /** Why not judged; by how much missed. */
  readonly note: string;
}

const ofSameCase = (line: ResultLine, other: ResultLine): boolean =>
  other.op === line.op &&
  other.dtype === line.dtype &&
  other.rowKind === line.rowKind &&
  other.shape.name === line.shape.name;

/** The figure of a line, or by how much the other contender of its case took longer. */
function valueOf({ figure, against }: Goal, line: ResultLine, lines: readonly ResultLine[]): number | undefined {
  const value = figureOf(line, figure);
  if (against === undefined || value === undefined) return value;
  const other = lines.find(
    (one) => one.contender.startsWith(against) && one.threads === line.threads && ofSameCase(line, one),
  );
  return other?.ratio && other.ratio.median / value;
}

/** How much more memory gave two threads than one, in the case of this line. */
function scaling(line: ResultLine, lines: readonly ResultLine[]): number | undefined {
  const wide = lines.find((other) => ofSameCase(line, other) && other.contender === OURS && other.threads > 1);
  return wide?.roof && line.roof && wide.roof.gigabytesPerSecond.median / line.roof.gigabytesPerSecond.median;
}

/** Of all lines that a goal is about, the worst against it. */
export function judge(goal: Goal, lines: readonly ResultLine[]): Judged {
  const found = lines
    .filter((line) => matches(line, goal.match))
    .map((line) => ({ line, value: valueOf(goal, line, lines) }))
    .filter((one): one is { line: ResultLine; value: number } => one.value !== undefined && !Number.isNaN(one.value));
  if (found.length === 0) return { goal, verdict: "not measured", note: "" };
  const scales = (line: ResultLine) => goal.roofScales === undefined || (scaling(line, lines) ?? 0) >= goal.roofScales;
  const fair = found.filter(({ line }) => scales(line));
  const cost = isCost(goal.figure);
  const worst = (all: typeof found) => all.reduce((a, b) => ((cost ? b.value > a.value : b.value < a.value) ? b : a));
  if (fair.length === 0) {
    const { line, value } = worst(found);
    return {
      goal,
      value,
      line,
      verdict: "not judged",
      note: `memory gave two threads ${(scaling(line, lines) ?? NaN).toFixed(2)}x of one`,
    };
  }
  const { line, value } = worst(fair);
  const reaches = (wanted: number) => (cost ? value <= wanted : value >= wanted);
  if (goal.aim !== undefined && reaches(goal.aim)) return { goal, value, line, verdict: "aim reached", note: "" };
  if (reaches(goal.must)) return { goal, value, line, verdict: "reached", note: "" };
  const short = cost ? value / goal.must - 1 : 1 - value / goal.must;
  return { goal, value, line, verdict: "missed", note: `by ${Math.max(1, Math.round(100 * short))} %` };
}
