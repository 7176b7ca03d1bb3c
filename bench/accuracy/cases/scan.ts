// Scans along rows: short masked rows against double sums, long rows with γλ = 1 against compensated sums.
import { discountedReturns, gae, prefixSums, scoreNorms, shareWeights, tailSums, vtrace } from "../../../lib";
import { gaeOracle, plainRows, type PlainRow, returnsOracle, vtraceOracle } from "../../../test/oracle/scan";
import { prefixSumsOracle, scoreNormOracle, tailSumsOracle } from "../../../test/oracle/scan-sums";
import { rng } from "../../../test/support/rng";
import { float64Sum, roundingOf, U64 } from "../budgets";
import { floats, largest, rowsOf, sumOf, WIDE_FLOATS, type WideFloat } from "../inputs";
import type { Budget, Case } from "../measure";

type Make = (n: number, seed: number) => ArrayLike<number>;

const KINDS: Readonly<Record<string, Make>> = {
  random: (n, seed) => rng(70 + seed).f64(n, -1, 1),
  "flat, 0.1": (n) => new Float64Array(n).fill(0.1),
  "offset 1e6": (n, seed) => rng(72 + seed).f64(n, 1e6, 1e6 + 1),
  "cancelling, ±1e6": (n, seed) =>
    rng(74 + seed)
      .f64(n, -1, 1)
      .map((x, i) => x + (i % 2 === 0 ? 1e6 : -1e6)),
};

/**
 * The header's 1e-7·(1 + max|x|), x being every number of the row that goes in or comes out, for float32; of float64 it says
 * that the carry is float64: the first-order bound of a sum of `terms` such numbers.
 */
function carried(
  dtype: WideFloat,
  T: number,
  inputs: readonly ArrayLike<number>[],
  outputs: readonly ArrayLike<number>[],
): Budget {
  const B = Math.ceil(inputs[0]!.length / T);
  const slice = (x: ArrayLike<number>, b: number) => Array.from({ length: T }, (_, t) => x[b * T + t] ?? 0);
  const size = Array.from({ length: B }, (_, b) =>
    Math.max(...[...inputs, ...outputs].map((x) => largest(slice(x, b)))),
  );
  const at = (i: number): number => size[Math.floor(i / T)]!;
  if (dtype === "float32") return { says: "1e-7·(1 + max|x|)", allowed: (_, i) => 1e-7 * (1 + at(i)) };
  return { says: "float64 carry", allowed: (want, i) => roundingOf("float64", want) + (3 * T + 16) * U64 * at(i) };
}

function flatten(rows: readonly PlainRow[], outputs: (row: PlainRow) => readonly number[], n: number): Float64Array {
  const flat = new Float64Array(n);
  for (const row of rows) outputs(row).forEach((x, k) => (flat[row.position[k]!] = x));
  return flat;
}

function shortCases(dtype: WideFloat, input: string, make: Make, T: number): Case[] {
  const B = 4;
  const n = B * T;
  const shape = [B, T] as const;
  const reward = floats(dtype, make(n, 0));
  const value = floats(dtype, make(n, 1));
  const weight = floats(dtype, rng(76).f64(n, 0.2, 2));
  const bootstrap = floats(dtype, rng(77).f64(B, -1, 1));
  const mask = rng(78).mask(n, 0.8);
  const gamma = 0.99;
  const lambda = 0.95;
  const rows = Array.from({ length: B }, (_, b) =>
    plainRows({ begin: b * T, end: (b + 1) * T, reward, value, weight, mask, gamma, bootstrap: bootstrap[b]! }, "skip"),
  ).flat();
  const caps = { lambda, rhoBar: 1, cBar: 1, pgRhoBar: 1.2 };
  const options = { shape, mask, gamma, bootstrap } as const;
  const advantages = flatten(rows, (row) => gaeOracle(row, lambda).advantages, n);
  const returns = flatten(rows, (row) => gaeOracle(row, lambda).returns, n);
  const discounted = flatten(rows, returnsOracle, n);
  const targets = flatten(rows, (row) => vtraceOracle(row, caps).targets, n);
  const vtraced = flatten(rows, (row) => vtraceOracle(row, caps).advantages, n);
  const sumRows = rowsOf(reward, T).map((values, b) => ({
    values,
    kept: rowsOf(mask, T)[b]!.map((flag) => flag === 1),
  }));
  const tails = sumRows.flatMap((row) =>
    tailSumsOracle(row, { gamma, steps: false, normalize: false, maskedWeight: 0 }),
  );
  const sums = sumRows.flatMap((row) => prefixSumsOracle(row, false));
  const budget = (...outputs: ArrayLike<number>[]) => carried(dtype, T, [reward, value], outputs);
  return [
    {
      op: "gae",
      dtype,
      input,
      want: {
        advantages: { values: advantages, budget: budget(advantages, returns) },
        returns: { values: returns, budget: budget(advantages, returns) },
      },
      run: (backend) => ({ ...gae(reward, value, { ...options, lambda, backend }) }),
    },
    {
      op: "discountedReturns",
      dtype,
      input,
      want: { returns: { values: discounted, budget: budget(discounted) } },
      run: (backend) => ({ returns: discountedReturns(reward, { ...options, backend }) }),
    },
    {
      op: "vtrace",
      dtype,
      input,
      want: {
        targets: { values: targets, budget: budget(targets, vtraced) },
        advantages: { values: vtraced, budget: budget(targets, vtraced) },
      },
      run: (backend) => {
        const got = vtrace(reward, value, weight, { ...options, ...caps, backend });
        return { targets: got.targets, advantages: got.advantages };
      },
    },
    {
      op: "tailSums",
      dtype,
      input,
      want: { tails: { values: tails, budget: budget(tails) } },
      run: (backend) => ({ tails: tailSums(reward, { shape, mask, gamma, backend }) }),
    },
    {
      op: "prefixSums",
      dtype,
      input,
      want: { sums: { values: sums, budget: budget(sums) } },
      run: (backend) => ({ sums: prefixSums(reward, { shape, mask, backend }) }),
    },
  ];
}

/** Sums from each position to the end, with the lost low parts carried beside. */
function suffixSums(x: ArrayLike<number>): Float64Array {
  const sums = new Float64Array(x.length);
  let total = 0;
  let lost = 0;
  for (let t = x.length - 1; t >= 0; --t) {
    const next = total + x[t]!;
    lost += Math.abs(total) >= Math.abs(x[t]!) ? total - next + x[t]! : x[t]! - next + total;
    total = next;
    sums[t] = total + lost;
  }
  return sums;
}

/** γ = λ = 1: the values between two steps cancel, so that a return is the sum of the later rewards. */
function longCases(dtype: WideFloat, input: string, make: Make, T: number): Case[] {
  const reward = floats(dtype, make(T, 2));
  const value = floats(dtype, make(T, 3));
  const returns = suffixSums(reward);
  const advantages = returns.map((sum, t) => sum - value[t]!);
  const sums = suffixSums(Float64Array.from(reward).reverse()).reverse();
  const shape = [1, T] as const;
  const named = `${input}, T ${T}, γλ 1`;
  const budget = (...outputs: ArrayLike<number>[]) => carried(dtype, T, [reward, value], outputs);
  return [
    {
      op: "gae",
      dtype,
      input: named,
      want: {
        advantages: { values: advantages, budget: budget(advantages, returns) },
        returns: { values: returns, budget: budget(advantages, returns) },
      },
      run: (backend) => ({ ...gae(reward, value, { shape, gamma: 1, lambda: 1, backend }) }),
    },
    {
      op: "discountedReturns",
      dtype,
      input: named,
      want: { returns: { values: returns, budget: budget(returns) } },
      run: (backend) => ({ returns: discountedReturns(reward, { shape, gamma: 1, backend }) }),
    },
    {
      op: "prefixSums",
      dtype,
      input: named,
      want: { sums: { values: sums, budget: budget(sums) } },
      run: (backend) => ({ sums: prefixSums(reward, { shape, backend }) }),
    },
  ];
}

/** Rows of probabilities from flat to nearly certain, where the norm of the score cancels. */
function scoreCase(dtype: WideFloat): Case {
  const T = 40;
  const probabilities = Array.from({ length: T }, (_, t) => {
    const rest = 2 ** -((t + 1) / 2);
    return [1 - rest, rest / 4, rest / 2, rest / 4];
  });
  const logProbs = floats(
    dtype,
    probabilities.map((p) => Math.log(p[0]!)),
  );
  const squares = floats(
    dtype,
    probabilities.map((p) => p.reduce((sum, x) => sum + x * x, 0)),
  );
  // The definition from probabilities where the inputs are float64; the rounding of float32 inputs is not the op's.
  const norms =
    dtype === "float64"
      ? probabilities.map((p) => scoreNormOracle(p, 0))
      : Array.from(logProbs, (x, t) => 1 - 2 * Math.exp(x) + squares[t]!);
  const paths = norms.map((_, t) => norms.slice(0, t + 1).reduce((sum, x) => sum + x, 0));
  const budget = carried(dtype, T, [squares], [paths, [2]]);
  return {
    op: "scoreNorms",
    dtype,
    input: "flat to nearly certain",
    want: { norms: { values: norms, budget }, pathNorms: { values: paths, budget } },
    run: (backend) => ({ ...scoreNorms(logProbs, squares, { shape: [1, T], backend }) }),
  };
}

/** Each weight from a sum of its own over the tokens from it on: nothing is subtracted from the row's total. */
function shareCase(dtype: WideFloat, input: string, make: Make, T: number): Case {
  const B = 4;
  const values = floats(dtype, make(B * T, 4));
  const mask = rng(79).mask(B * T, 0.8);
  const gain = 1.5;
  const weights = rowsOf(values, T).flatMap((row, b) => {
    const sizes = row.map((x, t) => (mask[b * T + t] === 1 ? Math.abs(x) : 0));
    const total = Math.max(sumOf(sizes), 1e-8);
    return row.map((_, t) => (mask[b * T + t] === 1 ? 1 + (gain * sumOf(sizes.slice(t))) / total : 0));
  });
  const products = weights.map((weight, i) => (mask[i] === 1 ? weight * values[i]! : 0));
  return {
    op: "shareWeights",
    dtype,
    input,
    want: {
      weights: { values: weights, budget: float64Sum(dtype, T, () => 1 + gain) },
      products: { values: products, budget: float64Sum(dtype, T, (_, i) => (1 + gain) * Math.abs(values[i]!)) },
    },
    run: (backend) => ({ ...shareWeights(values, { shape: [B, T], mask, gain, backend }) }),
  };
}

export default function scanCases(reduced: boolean): Case[] {
  return WIDE_FLOATS.flatMap((dtype) => [
    ...Object.entries(KINDS).flatMap(([input, make]) => [
      ...shortCases(dtype, input, make, reduced ? 37 : 96),
      ...longCases(dtype, input, make, reduced ? 2048 : 32_768),
      shareCase(dtype, input, make, reduced ? 37 : 400),
    ]),
    scoreCase(dtype),
  ]);
}
