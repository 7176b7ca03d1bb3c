// A linear head by definition, in float64: all logits, then rowOracle (logprob.ts) of every row, then plain matrix products.
import { type LogitMap, rowOracle } from "./logprob";

export interface HeadProblem {
  /** [rows, dim] */
  readonly hidden: ArrayLike<number>;
  /** [vocab, dim] */
  readonly weight: ArrayLike<number>;
  /** [vocab] */
  readonly bias?: ArrayLike<number>;
  readonly targets: ArrayLike<number>;
  readonly N: number;
  readonly D: number;
  readonly V: number;
  readonly map: LogitMap;
  readonly mask?: ArrayLike<number>;
}

export interface HeadOracle {
  readonly logits: readonly Float64Array[];
  readonly logProbs: number[];
  readonly entropies: number[];
  readonly logSumExps: number[];
  readonly sumSquares: number[];
  gradients(ofLogProbs: ArrayLike<number> | undefined, ofEntropies: ArrayLike<number> | undefined): HeadGradients;
}

interface HeadGradients {
  readonly hidden: number[];
  readonly weight: number[];
  readonly bias: number[];
  /** The same sums with every term's absolute value: what rounding is relative to. */
  readonly sizes: { readonly hidden: number[]; readonly weight: number[]; readonly bias: number[] };
}

/** The logits of a head, one row after the other. */
export function logitsOf({ hidden, weight, bias, N, D, V }: Omit<HeadProblem, "targets" | "map">): Float64Array[] {
  return Array.from({ length: N }, (_, n) =>
    Float64Array.from({ length: V }, (__, j) => {
      let x = bias?.[j] ?? 0;
      for (let d = 0; d < D; ++d) x += hidden[n * D + d]! * weight[j * D + d]!;
      return x;
    }),
  );
}

export function headOracle(problem: HeadProblem): HeadOracle {
  const { hidden, weight, targets, N, D, V, map, mask } = problem;
  const live = Array.from({ length: N }, (_, n) => !mask || mask[n] !== 0);
  const logits = logitsOf(problem);
  const rows = logits.map((x, n) => (live[n] ? rowOracle(x, map) : undefined));
  const of = (read: (row: NonNullable<(typeof rows)[number]>, n: number) => number) =>
    rows.map((row, n) => (row ? read(row, n) : 0));
  return {
    logits,
    logProbs: of((row, n) => row.logprob(targets[n]!)),
    entropies: of((row) => row.entropy),
    logSumExps: of((row) => row.logSumExp),
    sumSquares: of((row) => row.sumSquare),
    gradients(ofLogProbs, ofEntropies) {
      const [gradHidden, gradWeight, gradBias] = [N * D, V * D, V].map((n) => new Array<number>(n).fill(0)) as [
        number[],
        number[],
        number[],
      ];
      const sizes = { hidden: [...gradHidden], weight: [...gradWeight], bias: [...gradBias] };
      rows.forEach((row, n) => {
        if (!row) return;
        const pairs = ofLogProbs ? [[targets[n]!, ofLogProbs[n]!] as const] : [];
        row.gradient(pairs, ofEntropies?.[n] ?? 0).forEach((g, j) => {
          const add = (to: number[], size: number[], i: number, term: number) => {
            to[i]! += term;
            size[i]! += Math.abs(term);
          };
          add(gradBias, sizes.bias, j, g);
          for (let d = 0; d < D; ++d) {
            add(gradHidden, sizes.hidden, n * D + d, g * weight[j * D + d]!);
            add(gradWeight, sizes.weight, j * D + d, g * hidden[n * D + d]!);
          }
        });
      });
      return { hidden: gradHidden, weight: gradWeight, bias: gradBias, sizes };
    },
  };
}
