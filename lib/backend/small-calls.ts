// The sizes below which "auto" stays in JavaScript: the way into native code and back costs one to two microseconds, which for
// a handful of numbers is more than the work. Measured by bench/overhead.ts (bench/results/overhead.json); an op that is not
// listed runs on cpu at every size.
import type { Backend, BackendOps } from "./backend";

/** Bytes of the op's first array up to which js is the faster backend. */
export const SMALL_CALLS = { groupNormalize: 128, scanGae: 512, ratioLog: 256, lossToken: 256, lossRow: 256 } as const;

/** The backend that decides by op and bytes, and by nothing else. Off the event loop everything runs on `large`. */
export function bySize(small: Backend, large: Backend): Backend {
  const opsFor = (op: keyof typeof SMALL_CALLS, { byteLength }: ArrayBufferView): BackendOps =>
    byteLength <= SMALL_CALLS[op] ? small.ops : large.ops;
  const ops: BackendOps = {
    ...large.ops,
    groupNormalize: (args) => opsFor("groupNormalize", args.values).groupNormalize(args),
    scanGae: (args) => opsFor("scanGae", args.rewards).scanGae(args),
    ratioLog: (args) => opsFor("ratioLog", args.logProbs).ratioLog(args),
    lossToken: (args) => opsFor("lossToken", args.logProbs).lossToken(args),
    lossRow: (args) => opsFor("lossRow", args.logProbs).lossRow(args),
  };
  return { ...large, ops };
}
