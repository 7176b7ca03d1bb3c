// Column baselines by definition, one token at a time: for each kept token, look up the rows of its group anew.

export interface ColumnsCase {
  readonly values: readonly (readonly number[])[];
  readonly weights: readonly (readonly number[])[];
  readonly kept: readonly (readonly boolean[])[];
  readonly groups: readonly number[];
  readonly epsilon: number;
  readonly zeroTail: boolean;
}

/** Rows of baselines. */
export function groupColumnsOracle({ values, weights, kept, groups, epsilon, zeroTail }: ColumnsCase): number[][] {
  return values.map((row, b) => {
    const siblings = groups.flatMap((g, i) => (g === groups[b] ? [i] : []));
    return row.map((_, t) => {
      if (!kept[b]![t] || siblings.length === 1) return 0;
      const running = siblings.filter((i) => kept[i]!.lastIndexOf(true) >= t);
      if (zeroTail && running.length === 1) return 0;
      const here = siblings.filter((i) => kept[i]![t]);
      if (new Set(here.map((i) => values[i]![t])).size === 1 && here.some((i) => weights[i]![t]! > 0))
        return values[here[0]!]![t]!;
      const total = (f: (i: number) => number): number => here.map(f).reduce((a, c) => a + c, 0);
      return total((i) => weights[i]![t]! * values[i]![t]!) / (total((i) => weights[i]![t]!) + epsilon);
    });
  });
}
