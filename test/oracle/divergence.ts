// Divergences by definition: probabilities as quotients, Σ P·ln(P/Q) as it stands, and the gradient through the Jacobian of
// everything between logits and outcomes. Finite logits, or −∞ where every quotient still has a meaning.

export interface DivergenceOracleOptions {
  readonly beta: number;
  readonly temperature?: number;
  readonly support?: ArrayLike<number>;
  readonly outside?: "dropped" | "pooled";
  readonly tailFloor?: number;
}

function softmax(x: ArrayLike<number>, temperature: number): number[] {
  const z = Array.from(x, (v) => v / temperature);
  const top = Math.max(...z);
  const e = z.map((v) => Math.exp(v - top));
  const total = e.reduce((s, v) => s + v, 0);
  return e.map((v) => v / total);
}

/** P·ln(P/Q), with 0·ln 0 = 0. */
function term(P: number, Q: number): number {
  return P === 0 ? 0 : P * Math.log(P / Q);
}

function kl(P: readonly number[], Q: readonly number[]): number {
  return P.reduce((s, p, i) => s + term(p, Q[i]!), 0);
}

/** Outcome probabilities of a row, and a gradient to them as one to the p_j. */
function outcomes(p: readonly number[], { support, outside, tailFloor = 1e-7 }: DivergenceOracleOptions) {
  if (!support) return { P: [...p], pull: (d: readonly number[]) => [...d] };
  const ids = Array.from(support);
  const inside = ids.reduce((s, id) => s + p[id]!, 0);
  if (outside === "dropped")
    return {
      P: ids.map((id) => p[id]! / inside),
      // d (p_i / inside) / d p_j = ([i = j] − p_i / inside) / inside for j in the support
      pull: (d: readonly number[]) =>
        p.map((_, j) =>
          ids.includes(j)
            ? ids.reduce((s, id, i) => s + (d[i]! * ((id === j ? 1 : 0) - p[id]! / inside)) / inside, 0)
            : 0,
        ),
    };
  const rest = p.reduce((s, v, j) => (ids.includes(j) ? s : s + v), 0);
  const least = -Math.expm1(-tailFloor);
  return {
    P: [...ids.map((id) => p[id]!), Math.max(rest, least)],
    pull: (d: readonly number[]) =>
      p.map((_, j) => (ids.includes(j) ? d[ids.indexOf(j)]! : rest >= least ? d[ids.length]! : 0)),
  };
}

function valueOf(S: readonly number[], T: readonly number[], beta: number): number {
  if (beta === 0) return kl(T, S);
  if (beta === 1) return kl(S, T);
  const M = S.map((s, i) => (1 - beta) * s + beta * T[i]!);
  return beta * kl(T, M) + (1 - beta) * kl(S, M);
}

/** d value / d S_i, all outcomes being free variables. */
function partial(S: number, T: number, beta: number): number {
  if (beta === 0) return T === 0 ? 0 : -T / S;
  if (beta === 1) return S === 0 ? 0 : Math.log(S / T) + 1;
  return S === 0 ? 0 : (1 - beta) * Math.log(S / ((1 - beta) * S + beta * T));
}

export function divergenceOracle(
  student: ArrayLike<number>,
  teacher: ArrayLike<number>,
  options: DivergenceOracleOptions,
): number {
  const { beta, temperature = 1 } = options;
  const [S, T] = [student, teacher].map((x) => outcomes(softmax(x, temperature), options).P);
  return valueOf(S!, T!, beta);
}

export function divergenceGradientOracle(
  student: ArrayLike<number>,
  teacher: ArrayLike<number>,
  options: DivergenceOracleOptions,
): number[] {
  const { beta, temperature = 1 } = options;
  const p = softmax(student, temperature);
  const { P: S, pull } = outcomes(p, options);
  const { P: T } = outcomes(softmax(teacher, temperature), options);
  const ofProbability = pull(S.map((s, i) => partial(s, T[i]!, beta)));
  return p.map((own, k) => {
    // dp_j / dz_k = p_j·([j = k] − p_k)
    const dz = ofProbability.reduce((sum, d, j) => sum + d * p[j]! * ((j === k ? 1 : 0) - own), 0);
    return dz / temperature;
  });
}

/** The ids of the k largest, ascending; of equal ones the smaller. */
export function topOracle(x: ArrayLike<number>, k: number): number[] {
  const rank = (v: number) => (Number.isNaN(v) ? -Infinity : v);
  const better = (i: number, j: number) => {
    const [a, b] = [x[i]!, x[j]!];
    if (Number.isNaN(a) !== Number.isNaN(b)) return Number.isNaN(b);
    return rank(a) > rank(b) || (rank(a) === rank(b) && i < j);
  };
  const ids = Array.from({ length: x.length }, (_, i) => i);
  return ids.filter((i) => ids.filter((j) => better(j, i)).length < k);
}
