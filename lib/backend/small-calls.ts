// The sizes below which "auto" stays in JavaScript: the way into native code and back costs one to two microseconds, which for
// a handful of numbers is more than the work. Measured by bench/overhead.ts (bench/results/overhead.json); an op that is not
// listed runs on cpu at every size.
import type { Backend, BackendOps, OpName } from "./backend";
import type { LossTokenArgs } from "./contract/loss";
import { OP_NAMES } from "./contract/names";
import { isBare } from "./js/loss-bare";

/** Bytes of the op's first array up to which js is the faster backend. */
export const SMALL_CALLS = { groupNormalize: 512, scanGae: 512, ratioLog: 256, lossToken: 192, lossRow: 192 } as const;

/** What opens a backend, once it is asked for. */
type Opens = () => Backend;

function once(open: Opens): Opens {
  let opened: Backend | undefined;
  return () => (opened ??= open());
}

type Call = (args: never) => void;

/** Every op of a backend, which is opened by the first that is called. */
function opsOf(backend: Opens): Record<OpName, Call> {
  const callOf = (op: OpName): Call => {
    let call: Call | undefined;
    return (args) => (call ??= backend().ops[op])(args);
  };
  return Object.fromEntries(OP_NAMES.map((op) => [op, callOf(op)])) as Record<OpName, Call>;
}

/**
 * The backend that decides by op and bytes, and by nothing else. Off the event loop everything runs on `large`. Neither is opened before
 * a call needs it.
 */
export function bySize(openSmall: Opens, openLarge: Opens): Backend {
  const large = once(openLarge);
  const all = opsOf(large) as unknown as BackendOps; // an entry each of OP_NAMES, which has all
  let few: BackendOps | undefined;
  const opsFor = (op: keyof typeof SMALL_CALLS, { byteLength }: ArrayBufferView): BackendOps =>
    byteLength <= SMALL_CALLS[op] ? (few ??= openSmall().ops) : all;
  // A KL term or more figures than the sums take js longer than the way into native code, on a handful of tokens already.
  const lossOps = (op: "lossToken" | "lossRow", args: LossTokenArgs): BackendOps =>
    isBare(args) ? opsFor(op, args.logProbs) : all;
  const ops: BackendOps = {
    ...all,
    groupNormalize: (args) => opsFor("groupNormalize", args.values).groupNormalize(args),
    scanGae: (args) => opsFor("scanGae", args.rewards).scanGae(args),
    ratioLog: (args) => opsFor("ratioLog", args.logProbs).ratioLog(args),
    lossToken: (args) => lossOps("lossToken", args).lossToken(args),
    lossRow: (args) => lossOps("lossRow", args).lossRow(args),
  };
  return {
    get name() {
      return large().name;
    },
    get stops() {
      return large().stops;
    },
    ops,
    runAsync: (op, args, signal) => large().runAsync(op, args, signal),
  };
}
