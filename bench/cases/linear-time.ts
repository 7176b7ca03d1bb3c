// Definitions that can be told of millions of steps: the oracles of test/oracle are sums of sums. test/bench holds each of
// these against its oracle on short rows.

// Local: a look-up of the global in every step is what makes a test realm slow.
const { abs } = Math;

export interface RecurrenceInput {
  readonly rewards: ArrayLike<number>;
  /** Absent: no values, and the advantages are the discounted returns. */
  readonly values?: ArrayLike<number>;
  readonly mask: ArrayLike<number>;
  readonly rows: number;
  readonly steps: number;
  readonly gamma: number;
  readonly lambda: number;
}

/** Adds as exactly as two float64 can: the carry of a million steps loses nothing that float32 could see. */
class LongSum {
  private high = 0;
  private low = 0;

  decay(factor: number): void {
    this.high *= factor;
    this.low *= factor;
  }

  add(term: number): void {
    const sum = this.high + term;
    this.low += abs(this.high) >= abs(term) ? this.high - sum + term : term - sum + this.high;
    this.high = sum;
  }

  get value(): number {
    return this.high + this.low;
  }
}

/** A[t] = δ[t] + γλ·A[next] over the kept steps of each row, 0 elsewhere; δ[t] = reward + γ·value[next] − value. */
export function advantagesOf({ rewards, values, mask, rows, steps, gamma, lambda }: RecurrenceInput): Float64Array {
  const advantages = new Float64Array(rows * steps);
  for (let b = 0; b < rows; ++b) {
    const carry = new LongSum();
    let next = 0;
    for (let i = (b + 1) * steps - 1; i >= b * steps; --i) {
      if (mask[i] === 0) continue;
      const value = values ? values[i]! : 0;
      carry.decay(gamma * lambda);
      carry.add(rewards[i]!);
      carry.add(gamma * next);
      carry.add(-value);
      next = value;
      advantages[i] = carry.value;
    }
  }
  return advantages;
}
