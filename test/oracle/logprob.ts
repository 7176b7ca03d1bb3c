// Softmax quantities by definition, in float64: every id has its probability, its share of the others and its surprisal.

// Local: a look-up of the global in every element is what makes a test realm slow.
const { abs, exp, log, log1p, max, tanh } = Math;

export interface LogitMap {
  readonly temperature?: number;
  readonly scale?: number;
  readonly softcap?: number;
}

export function zOf(x: number, { temperature = 1, scale = 1, softcap }: LogitMap): number {
  return softcap === undefined ? (scale * x) / temperature : (softcap * tanh((scale * x) / softcap)) / temperature;
}

function derivativeOf(x: number, { temperature = 1, scale = 1, softcap }: LogitMap): number {
  return softcap === undefined ? scale / temperature : (scale * (1 - tanh((scale * x) / softcap) ** 2)) / temperature;
}

/** Neumaier's sum: the order does not matter to 1e-16. */
function sum(terms: Float64Array): number {
  let total = 0;
  let lost = 0;
  for (const term of terms) {
    const next = total + term;
    lost += abs(total) >= abs(term) ? total - next + term : term - next + total;
    total = next;
  }
  return total + lost;
}

export interface RowOracle {
  readonly entropy: number;
  readonly logSumExp: number;
  readonly sumSquare: number;
  readonly meanGap: number;
  readonly log1pSum: number;
  logprob(id: number): number;
  /** dL/dx of the whole row; `targets` with a gradient each. */
  gradient(targets: readonly (readonly [id: number, gradient: number])[], gradEntropy: number): Float64Array;
}

/** A row with at least one finite logit and no NaN or +∞. */
export function rowOracle(x: Float64Array, map: LogitMap): RowOracle {
  const z = x.map((logit) => (logit === -Infinity ? -Infinity : zOf(logit, map)));
  const M = z.reduce((a, b) => max(a, b), -Infinity);
  const top = z.indexOf(M);
  const e = z.map((value) => exp(value - M));
  const total = sum(e);
  const withoutTop = sum(e.map((value, j) => (j === top ? 0 : value)));
  const p = e.map((value) => value / total);
  const others = (j: number) => (j === top ? withoutTop / total : 1 - p[j]!);
  // −ln p: of a probability near 1 through the share of the others, else from z.
  const surprisal = (j: number) => (j === top ? log1p(withoutTop) : log(total) + (M - z[j]!));
  const entropy = sum(p.map((share, j) => (share === 0 ? 0 : share * surprisal(j))));
  const meanGap = sum(p.map((share, j) => (share === 0 ? 0 : share * (M - z[j]!))));
  return {
    entropy,
    meanGap,
    log1pSum: log1p(withoutTop),
    logSumExp: M + log(total),
    sumSquare: sum(p.map((share) => share * share)),
    logprob: (id) => -surprisal(id),
    gradient: (targets, gradEntropy) =>
      p.map((share, j) => {
        const dz = targets.reduce((d, [id, a]) => d + a * (id === j ? others(j) : -share), 0);
        // entropy + ln p[j] as Σ p[k]·(z[j] − z[k]): between several largest logits the two cancel to less than their last digits.
        const fromEntropy = share === 0 ? 0 : gradEntropy * share * (meanGap - (M - z[j]!));
        return (dz - fromEntropy) * derivativeOf(x[j]!, map);
      }),
  };
}
