// The scans by definition: a masked row is first rewritten as plain rows without a mask, then every output is a double sum
// over later steps, not a recurrence.

export interface PlainRow {
  /** Where each step's outputs belong in the flat array. */
  readonly position: readonly number[];
  readonly reward: readonly number[];
  readonly value: readonly number[];
  readonly weight: readonly number[];
  readonly gamma: readonly number[];
  /** Where steps have their own; the number of the call where they have not. */
  readonly lambda: readonly (number | undefined)[];
  readonly bootstrap: number;
}

export interface MaskedRow {
  readonly begin: number;
  readonly end: number;
  readonly reward: ArrayLike<number>;
  readonly value?: ArrayLike<number>;
  readonly weight?: ArrayLike<number>;
  readonly mask?: ArrayLike<number>;
  readonly discount?: ArrayLike<number>;
  readonly gamma: number;
  readonly lambda?: ArrayLike<number>;
  readonly bootstrap: number;
}

/** The rows without a mask that a mask mode makes of one row. */
export function plainRows(row: MaskedRow, mode: "skip" | "steps" | "cut"): PlainRow[] {
  type Step = { i: number; kept: boolean };
  const steps: Step[] = [];
  for (let i = row.begin; i < row.end; ++i) steps.push({ i, kept: !row.mask || row.mask[i] !== 0 });
  const plain = (chosen: Step[], bootstrap: number): PlainRow => ({
    position: chosen.map(({ i }) => i),
    reward: chosen.map(({ i, kept }) => (kept ? row.reward[i]! : 0)),
    value: chosen.map(({ i, kept }) => (kept ? (row.value?.[i] ?? 0) : 0)),
    weight: chosen.map(({ i, kept }) => (kept ? (row.weight?.[i] ?? 1) : 1)),
    gamma: chosen.map(({ i, kept }) => (kept ? (row.discount?.[i] ?? row.gamma) : row.gamma)),
    // Under the mask the number of the call stands in: 1 where there is none.
    lambda: chosen.map(({ i, kept }) => row.lambda && (kept ? row.lambda[i]! : 1)),
    bootstrap,
  });
  if (mode === "steps") return [plain(steps, row.bootstrap)];
  if (mode === "skip")
    return [
      plain(
        steps.filter((step) => step.kept),
        row.bootstrap,
      ),
    ];
  const pieces: Step[][] = [[]];
  for (const step of steps)
    if (step.kept) pieces[pieces.length - 1]!.push(step);
    else pieces.push([]);
  return pieces.map((piece, k) => plain(piece, k === pieces.length - 1 ? row.bootstrap : 0));
}

/** Σ over j ≥ t of (Π over i from t to j−1 of decay[i]) · term[j], plus Π of all · tail. */
function weightedTail(t: number, term: readonly number[], decay: readonly number[], tail: number): number {
  let sum = 0;
  for (let j = t; j <= term.length; ++j) {
    let product = 1;
    for (let i = t; i < j; ++i) product *= decay[i]!;
    sum += product * (j < term.length ? term[j]! : tail);
  }
  return sum;
}

export function gaeOracle(row: PlainRow, lambda: number): { advantages: number[]; returns: number[] } {
  const next = (t: number): number => row.value[t + 1] ?? row.bootstrap;
  const delta = row.reward.map((r, t) => r + row.gamma[t]! * next(t) - row.value[t]!);
  const decay = row.gamma.map((g, t) => g * (row.lambda[t] ?? lambda));
  const advantages = delta.map((_, t) => weightedTail(t, delta, decay, 0));
  return { advantages, returns: advantages.map((a, t) => a + row.value[t]!) };
}

export function returnsOracle(row: PlainRow): number[] {
  return row.reward.map((_, t) => weightedTail(t, row.reward, row.gamma, row.bootstrap));
}

export function vtraceOracle(
  row: PlainRow,
  { lambda, rhoBar, cBar, pgRhoBar }: { lambda: number; rhoBar: number; cBar: number; pgRhoBar: number },
): { targets: number[]; advantages: number[] } {
  const next = (t: number): number => row.value[t + 1] ?? row.bootstrap;
  const delta = row.reward.map(
    (r, t) => Math.min(rhoBar, row.weight[t]!) * (r + row.gamma[t]! * next(t) - row.value[t]!),
  );
  const decay = row.gamma.map((g, t) => g * (row.lambda[t] ?? lambda) * Math.min(cBar, row.weight[t]!));
  const targets = delta.map((_, t) => row.value[t]! + weightedTail(t, delta, decay, 0));
  const advantages = targets.map(
    (_, t) =>
      Math.min(pgRhoBar, row.weight[t]!) *
      (row.reward[t]! + row.gamma[t]! * (targets[t + 1] ?? row.bootstrap) - row.value[t]!),
  );
  return { targets, advantages };
}
