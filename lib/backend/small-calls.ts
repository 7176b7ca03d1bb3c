// The sizes below which "auto" stays in JavaScript: the way into native code and back costs one to two microseconds, which for
// a handful of numbers is more than the work. Measured by bench/overhead.ts (bench/results/overhead.json); an op that is not
// listed runs on cpu at every size.
import type { Backend, BackendOps } from "./backend";
import type { LossTokenArgs } from "./contract/loss";
import { isBare } from "./js/loss-bare";

/** Bytes of the op's first array up to which js is the faster backend. */
export const SMALL_CALLS = { groupNormalize: 128, scanGae: 512, ratioLog: 256, lossToken: 256, lossRow: 256 } as const;

/** The backend that decides by op and bytes, and by nothing else. Off the event loop everything runs on `large`. */
export function bySize(small: Backend, large: Backend): Backend {
  const opsFor = (op: keyof typeof SMALL_CALLS, { byteLength }: ArrayBufferView): BackendOps =>
    byteLength <= SMALL_CALLS[op] ? small.ops : large.ops;
  // A KL term or more figures than the sums take js longer than the way into native code, on a handful of tokens already.
  const lossOps = (op: "lossToken" | "lossRow", args: LossTokenArgs): BackendOps =>
    isBare(args) ? opsFor(op, args.logProbs) : large.ops;
  const ops: BackendOps = {
    ...large.ops,
    groupNormalize: (args) => opsFor("groupNormalize", args.values).groupNormalize(args),
    scanGae: (args) => opsFor("scanGae", args.rewards).scanGae(args),
    ratioLog: (args) => opsFor("ratioLog", args.logProbs).ratioLog(args),
    lossToken: (args) => lossOps("lossToken", args).lossToken(args),
    lossRow: (args) => lossOps("lossRow", args).lossRow(args),
  };
  return { ...large, ops };
}
