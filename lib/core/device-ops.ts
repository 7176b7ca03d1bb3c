// Which public functions take DeviceArrays, and why the others do not. test/device/ops.test.ts holds the list against what is
// exported and tries each of them.

/** Ops that run where their arrays lie. */
export const DEVICE_OPS: readonly string[] = [
  "gae",
  "discountedReturns",
  "vtrace",
  "tailSums",
  "prefixSums",
  "scoreNorms",
  "shareWeights",
  "logRatio",
  "clippedObjective",
  "groupNormalize",
  "groupBroadcast",
  "groupPlace",
  "groupSoftmax",
  "groupLogSumExp",
  "groupColumns",
  "groupWeigh",
  "groupTop2",
  "groupTilt",
  "groupEntropy",
  "logprob",
  "logprobBackward",
  "logprobPartial",
  "moments",
  "mergeMoments",
  "whiten",
  "affine",
  "clamp",
  "gammaWeights",
  "countKept",
  "findSpans",
  "spanMeans",
  "spanMask",
  "countNgrams",
  "stepWeights",
  "modulateSpans",
  "sequenceWeights",
  "quantileMask",
  "topMask",
  "covarianceMask",
  "tokenLoss",
  "rowLoss",
  "klEstimates",
  "measureMismatch",
  "boundMismatch",
  "linearLogprob",
  "linearLogprobBackward",
  "divergence",
  "divergenceBackward",
  "topLogits",
];

/** Why an op needs its arrays in host memory. */
export const HOST_ONLY: Readonly<Record<string, string>> = {
  logprobMerge: "the states of shards come from workers, and are joined and checked in host memory",
  logprobTogether: "its workers exchange their states in host memory",
  tokenLossFromLogits:
    "its terms go to float64 between two kernels; logprob, tokenLoss and logprobBackward do the same on a device",
  delimiterVariants: "it asks a tokenizer",
};

const accepted = new Set(DEVICE_OPS);

/** For a function above the ops that is made of them alone: it takes DeviceArrays, too. */
export function takesDeviceArrays(op: string): void {
  accepted.add(op);
}

const ON_HOST = "part of it is computed in host memory";
const READ = "give it array.read(), or await array.readAsync()";

export interface DeviceRefusal {
  readonly refused: boolean;
  readonly reason: string;
  /** What to do. */
  readonly instead: string;
}

/** What the public function `op` says to a DeviceArray. */
export function deviceRefusal(op: string): DeviceRefusal {
  if (accepted.has(op)) return { refused: false, reason: "", instead: "" };
  const plain = op.endsWith("Async") ? op.slice(0, -"Async".length) : "";
  if (accepted.has(plain))
    return {
      refused: true,
      reason: "work on a device is asynchronous already",
      instead: `call ${plain}, and await readAsync() of its results`,
    };
  return { refused: true, reason: HOST_ONLY[op] ?? ON_HOST, instead: READ };
}
