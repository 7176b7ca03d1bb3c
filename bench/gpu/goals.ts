// What the CUDA kernels are held to, as data: shares of a device copy of the same bytes in the same run, and eager torch.
import type { Goal, Match } from "../goals";
import type { Shape } from "../shapes";

const share = (says: string, match: Match, must: number, aim: number, kernel?: string): Goal => ({
  says,
  match: { threads: 0, ...match },
  figure: "share",
  must,
  aim,
  kernel,
});

const shapes = (...names: readonly string[]): { readonly shapes: readonly Shape[] } => ({
  shapes: names.map((name) => ({ name, sizes: [] })),
});
const LARGE = shapes("Qwen vocabulary", "Llama 2 vocabulary");

export const GPU_GOALS: readonly Goal[] = [
  share("forward, V ≥ 32K", { op: "logprob", ...LARGE }, 0.85, 1.03, "forward_kernel"),
  share(
    "forward, V = 4,096",
    { op: "logprob", ...shapes("small vocabulary") },
    0.75,
    0.9,
    "forward_short_kernel, V = 4,096",
  ),
  share(
    "forward, V = 1,024",
    { op: "logprob", ...shapes("1024 columns") },
    0.55,
    0.75,
    "forward_short_kernel, V = 1,024",
  ),
  share("backward, V ≥ 32K", { op: "logprobBackward", ...LARGE }, 0.88, 0.98, "backward_kernel"),
  share("loss from logits, V ≥ 32K", { op: "policyLossFromLogits", ...LARGE }, 0.8, 0.93, "held_kernel"),
  share("GAE, 64 MB and more", { op: "gae", elements: 4e6 }, 0.65, 0.88, "scan_rows_tiled_kernel, GAE"),
  share("spans, 1e7 tokens and more", { op: "findSpans", elements: 1e7 }, 0.7, 0.95, "delim_marks_kernel"),
  // One launch within twice (at best 1.3 times) the byte floor.
  share("group normalisation of 1e6", { op: "groupNormalize" }, 1 / 2, 1 / 1.3, "group_teams_kernel"),
  share(
    "sequence objective with gradient",
    { op: "clippedObjective, sequence, with gradient" },
    1 / 2,
    1 / 1.3,
    "row_losses_kernel",
  ),
  share("token losses", { op: "policyLoss, clipped tokens, with gradient" }, 1 / 2, 1 / 1.3, "token_losses_kernel"),
  share(
    "KL divergence with gradient",
    { op: "divergence with gradient, forward KL" },
    0.4,
    0.6,
    "divergence_kl_kernel",
  ),
  {
    says: "forward, against eager torch",
    match: { op: "logprob", threads: 0, ...LARGE, contender: "torch eager" },
    figure: "ratio",
    must: 3,
    aim: 4.5,
  },
  {
    says: "loss from logits, against eager torch",
    match: { op: "policyLossFromLogits", threads: 0, ...LARGE, contender: "torch eager" },
    figure: "ratio",
    must: 3,
    aim: 4.5,
  },
  {
    says: "linear head, against torch's product alone",
    match: { op: "linearLogprob", dtype: "bfloat16", threads: 0, contender: "torch: the product alone" },
    figure: "ratio",
    must: 0.5,
    aim: 0.8,
  },
];

/** By kernel: the share of the tensor cores' peak that its loop must leave by its instructions. No copy is a measure of it. */
export const TENSOR_GOALS: Readonly<Record<string, number>> = { tensor_strip_kernel: 0.5 };
