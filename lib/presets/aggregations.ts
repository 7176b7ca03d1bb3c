// How frameworks name their ways to add a batch of token losses up. Data only.
// verl asks for the counts of the whole batch where it is a part.
const verl = {
  tokenMean: { mode: "tokenMean", uses: ["tokens", "workers"], needed: ["tokens"] },
  rowMean: { mode: "rowMean", emptyRows: "skip", uses: ["rows", "workers"], needed: ["rows"] },
  rowSum: { mode: "rowSum", emptyRows: "skip", uses: ["rows", "workers"], needed: ["rows"] },
  fixedLength: { mode: "fixedLength", emptyRows: "skip", uses: ["rows", "length", "workers"], needed: ["rows"] },
} as const;
const tokenMean = { mode: "tokenMean", uses: ["tokens", "workers"] } as const;
const tokenMeanOfStep = { mode: "tokenMean", uses: ["tokens", "workers", "stepsPerGeneration"] } as const;
const tokenMeanAlone = { mode: "tokenMean", uses: ["accumulation"] } as const;
const rowMean = { mode: "rowMean", emptyRows: "skip", uses: ["rows", "workers"] } as const;
const rowMeanOfAll = { mode: "rowMean", emptyRows: "count", uses: ["accumulation"] } as const;
const fixedLength = { mode: "fixedLength", emptyRows: "count", uses: ["length", "accumulation"] } as const;
const rowSumOfAll = { mode: "rowSum", emptyRows: "count", uses: ["accumulation"] } as const;

/** By framework and the name of the mode there. */
export const AGGREGATIONS = {
  "verl/token-mean": verl.tokenMean,
  "verl/seq-mean-token-sum": verl.rowSum,
  "verl/seq-mean-token-mean": verl.rowMean,
  "verl/seq-mean-token-sum-norm": verl.fixedLength,
  "verl/token-sum": { mode: "tokenSum", uses: ["workers"] },
  "verl-2026-01/token-mean": tokenMean,
  "verl-2026-01/seq-mean-token-sum": { mode: "rowSum", emptyRows: "skip", uses: ["rows", "workers"] },
  "verl-2026-01/seq-mean-token-mean": rowMean,
  // No number of rows in it, whatever its name says.
  "verl-2026-01/seq-mean-token-sum-norm": { mode: "fixedLength", rows: 1, uses: ["length"] },
  "openrlhf/token": tokenMean,
  "openrlhf/sample": rowMean,
  "trl/grpo": rowMeanOfAll,
  "trl/sapo": rowMeanOfAll,
  "trl/bnpo": tokenMeanAlone,
  "trl/dr_grpo": fixedLength,
  "trl/dapo": tokenMeanOfStep,
  "trl/cispo": tokenMeanOfStep,
  "trl/vespo": tokenMeanOfStep,
  "trl/luspo": rowSumOfAll,
  "lightrft/policy": { mode: "rowMean", emptyRows: "count", uses: [] },
} as const;

/** "framework/mode". Liger's modes are TRL's. */
export type AggregationName = keyof typeof AGGREGATIONS;
