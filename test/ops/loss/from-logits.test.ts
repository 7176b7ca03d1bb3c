// A token loss from the logits: the bits of the three calls that it stands for, and the slope of its definition.
import {
  type LossOptions,
  logprob,
  logprobBackward,
  type LogitMapOptions,
  tokenLoss,
  tokenLossFromLogits,
  tokenLossFromLogitsAsync,
  type TokenLossFromLogitsOptions,
  type TokenLossOptions,
} from "../../../lib";
import { toHalfBits } from "../../../lib/core/half";
import { lossOracle } from "../../oracle/loss";
import { rowOracle } from "../../oracle/logprob";
import { type BackendName, eachBackend } from "../../support/each-backend";
import { rng } from "../../support/rng";
import { numbersOf, type LogitDType, LOGIT_DTYPES } from "../logprob/rows";
import { FORMS, MASKS, randomCase } from "./cases";

const V = 7;
const TOKENS = FORMS.filter(({ kind }) => kind === "token");
const MAPS: readonly LogitMapOptions[] = [{}, { temperature: 0.7, scale: 1.2 }, { softcap: 9, temperature: 0.8 }];

interface Problem {
  readonly logits: Float32Array | Uint16Array;
  readonly dtype: LogitDType;
  readonly targets: Int32Array;
  readonly n: number;
  readonly stride: number;
  /** Everything but the log-probs. */
  readonly options: Omit<TokenLossOptions, keyof Pick<LossOptions<never>, "logProbs" | "outputs">> & {
    readonly mask?: Uint8Array;
  };
  readonly entropy: NonNullable<TokenLossFromLogitsOptions["entropy"]>;
}

/** A random call of the form, and logits whose log-probs are about those of the call. */
function problem(
  seed: number,
  form: (typeof TOKENS)[number],
  dtype: LogitDType,
  wishes: Parameters<typeof randomCase>[2],
  padding = 0,
): Problem {
  const { options } = randomCase(seed, form, wishes);
  const { logProbs, outputs: _, ...rest } = options as TokenLossOptions;
  const r = rng(seed + 1000);
  const n = logProbs.length;
  const stride = V + padding;
  const targets = r.i32(n, 0, V);
  const values = new Float32Array(n * stride).fill(NaN); // the padding is not read
  for (let i = 0; i < n; ++i) {
    const row = r.normal(V);
    const others = row.reduce((sum, x, j) => (j === targets[i] ? sum : sum + Math.exp(x)), 0);
    const p = Math.min(Math.exp(logProbs[i]!), 0.95);
    row[targets[i]!] = Math.log((p / (1 - p)) * others);
    values.set(row, i * stride);
  }
  const B = options.shape ? options.shape[0] : options.offsets!.length - 1;
  const entropy = {
    coefficient: 0.3,
    ...(seed % 2 === 0 && { rowWeights: r.f64(B) }),
    ...(seed % 3 === 0 && { mask: r.mask(n, 0.6) }),
  };
  return {
    logits: dtype === "float32" ? values : toHalfBits(values, dtype),
    dtype,
    targets,
    n,
    stride,
    options: rest,
    entropy,
  };
}

/** d total / d entropy of each token. */
function entropyWeights({ options, entropy, n }: Problem): Float64Array {
  const starts = options.shape
    ? Array.from({ length: options.shape[0] + 1 }, (_, b) => b * options.shape![1])
    : Array.from(options.offsets!);
  return Float64Array.from({ length: n }, (_, i) => {
    if (options.mask?.[i] === 0 || entropy.mask?.[i] === 0) return 0;
    const b = starts.findIndex((start, k) => start <= i && i < (starts[k + 1] ?? Infinity));
    return -entropy.coefficient * ((entropy.rowWeights ?? options.rowWeights)?.[b] ?? 1);
  });
}

function fused(p: Problem, map: LogitMapOptions, backend: BackendName, changes: object = {}) {
  const { dtype, stride, options, entropy } = p;
  const call = {
    ...options,
    ...map,
    dtype,
    vocab: V,
    stride,
    entropy,
    outputs: ["losses", "ratios", "klValues", "clipped", "gradLogProbs"],
    backend,
  };
  return tokenLossFromLogits(p.logits, p.targets, { ...call, ...changes } as unknown as TokenLossFromLogitsOptions<
    "losses" | "gradLogProbs"
  >);
}

function composed(p: Problem, map: LogitMapOptions, backend: BackendName) {
  const { options, dtype, stride } = p;
  const where = {
    ...map,
    shape: [p.n, V] as const,
    stride,
    dtype,
    backend,
    ...(options.mask && { mask: options.mask }),
  };
  const state = logprob(p.logits, p.targets, where);
  const outputs = ["losses", "ratios", "klValues", "clipped", "gradLogProbs"] as const;
  const loss = tokenLoss({ ...options, logProbs: state.logProbs, outputs, backend } as TokenLossOptions<
    (typeof outputs)[number]
  >);
  const given = { gradLogProbs: loss.gradLogProbs, gradEntropies: Float32Array.from(entropyWeights(p)) };
  return { ...state, ...loss, gradLogits: logprobBackward(p.logits, p.targets, state, { ...where, ...given }) };
}

eachBackend((backend) => {
  describe.each(TOKENS)("$name", (form) => {
    test("has every bit of logprob, tokenLoss and logprobBackward, in place too", () => {
      LOGIT_DTYPES.forEach((dtype, d) => {
        MASKS.forEach((mask, m) => {
          for (const layout of ["padded", "packed"] as const) {
            const seed = 40 * d + 7 * m + (layout === "padded" ? 1 : 2);
            const p = problem(seed, form, dtype, { layout, mask }, (d + m) % 3);
            const map = MAPS[(d + m) % 3]!;
            const { total, figures, ...want } = composed(p, map, backend);
            const { total: all, entropyLoss, ...got } = fused(p, map, backend);
            expect(got).toEqual({ ...want, figures });
            const weights = entropyWeights(p);
            expect(entropyLoss).toBeAllClose(
              want.entropies.reduce((sum, H, i) => (weights[i] === 0 ? sum : sum + weights[i]! * H), 0),
              { rtol: 1e-12, atol: 1e-14 },
            );
            expect(all).toBe(total + entropyLoss);

            const own = p.logits.slice();
            expect(fused({ ...p, logits: own }, map, backend, { out: own }).gradLogits).toBe(own);
            expect(own).toEqual(want.gradLogits);
          }
        });
      });
    });

    test("has the gradient of its definition", () => {
      for (const [i, map] of MAPS.entries()) {
        const p = problem(300 + i, form, "float32", { layout: "packed", mask: "some", kl: i !== 1 });
        const at = Float64Array.from(p.logits);
        const weights = entropyWeights(p);
        const rowsAt = (x: Float64Array) =>
          Array.from({ length: p.n }, (_, n) => rowOracle(x.slice(n * V, (n + 1) * V), map));
        const logProbsOf = (rows: ReturnType<typeof rowsAt>) => rows.map((row, n) => row.logprob(p.targets[n]!));
        const frozen = logProbsOf(rowsAt(at));
        const total = (x: Float64Array): number => {
          const rows = rowsAt(x);
          const loss = lossOracle(
            { kind: "token", options: p.options as unknown as TokenLossOptions },
            logProbsOf(rows),
            frozen,
          ).total;
          return rows.reduce((sum, { entropy }, n) => sum + weights[n]! * entropy, loss);
        };
        const { total: got, gradLogits } = fused(p, map, backend);
        expect(got).toBeAllClose(total(at), { rtol: 5e-6, atol: 5e-6 });
        const h = 1e-5;
        const moved = (j: number, step: number) => total(at.map((x, k) => (k === j ? x + step : x)));
        const slopes = Array.from(at, (_, j) => (moved(j, h) - moved(j, -h)) / (2 * h));
        expect(numbersOf(gradLogits as Float32Array, "float32")).toBeAllClose(slopes, { rtol: 2e-5, atol: 5e-6 });
      }
    });
  });

  test("what lies under the mask changes no bit: logits, targets and everything of a token", () => {
    for (const form of TOKENS) {
      const p = problem(17, form, "float32", { layout: "padded", mask: "with empty rows", kl: true });
      const { options, n } = p;
      const mask = options.mask!;
      const want = fused(p, {}, backend);
      const logits = p.logits.map((x, i) => (mask[Math.floor(i / V)] === 0 ? NaN : x)) as Float32Array;
      const targets = p.targets.map((id, i) => (mask[i] === 0 ? -7 : id));
      const poisoned = (array: ArrayLike<number> | undefined) =>
        array?.length === n ? Float64Array.from(array, (x, i) => (mask[i] === 0 ? NaN : x)) : array;
      const { oldLogProbs, kl } = options;
      const changes = {
        ...(oldLogProbs && { oldLogProbs: poisoned(oldLogProbs) }),
        ...(options.advantagesPer === "token" && { advantages: poisoned(options.advantages) }),
        kl: { ...kl, referenceLogProbs: poisoned(kl!.referenceLogProbs) },
      };
      expect(fused({ ...p, logits, targets }, {}, backend, changes)).toEqual(want);
      expect(Array.from(want.gradLogits).every((g, i) => mask[Math.floor(i / V)] !== 0 || Object.is(g, 0))).toBe(true);
    }
  });

  test("tokens in another order, each a row, have their gradients in that order", () => {
    const r = rng(3);
    const n = 9;
    const [logits, targets] = [r.normal(n * V, 0, 2), r.i32(n, 0, V)];
    const [old, advantages, weights] = [r.f64(n, -3, -1), r.f64(n, -2, 2), r.f64(n)];
    const run = (order: readonly number[]) => {
      const of = (values: Float64Array) => Float64Array.from(order, (i) => values[i]!);
      return tokenLossFromLogits(
        Float32Array.from(order.flatMap((i) => [...logits.subarray(i * V, (i + 1) * V)])),
        order.map((i) => targets[i]!),
        {
          form: "clip",
          clipLow: 0.2,
          clipHigh: 0.2,
          shape: [n, 1],
          oldLogProbs: of(old),
          advantages: of(advantages),
          rowWeights: of(weights),
          entropy: { coefficient: 0.1 },
          backend,
        },
      ).gradLogits;
    };
    const straight = run([0, 1, 2, 3, 4, 5, 6, 7, 8]);
    const order = [4, 8, 0, 2, 7, 1, 6, 3, 5];
    expect(run(order)).toEqual(Float32Array.from(order.flatMap((i) => [...straight.subarray(i * V, (i + 1) * V)])));
  });

  test("packed rows have the gradients of padded ones", () => {
    const r = rng(5);
    const [B, T] = [3, 4];
    const lengths = [3, 0, 4];
    const mask = Uint8Array.from({ length: B * T }, (_, i) => (i % T < lengths[Math.floor(i / T)]! ? 1 : 0));
    const kept = Array.from(mask.keys()).filter((i) => mask[i] === 1);
    const [logits, targets, old] = [r.normal(B * T * V), r.i32(B * T, 0, V), r.f64(B * T, -3, -1)];
    const shared = {
      form: "sigmoid",
      temperaturePositive: 1,
      temperatureNegative: 2,
      advantages: r.f64(B, -1, 1),
      rowWeights: r.f64(B),
      backend,
    } as const;
    const entropy = { coefficient: 0.2 };
    const padded = tokenLossFromLogits(logits, targets, { ...shared, entropy, shape: [B, T], mask, oldLogProbs: old });
    const rowsOf = (x: Float32Array) => Float32Array.from(kept.flatMap((i) => [...x.subarray(i * V, (i + 1) * V)]));
    const packed = tokenLossFromLogits(
      rowsOf(logits),
      kept.map((i) => targets[i]!),
      {
        ...shared,
        entropy,
        offsets: Int32Array.of(0, 3, 3, 7),
        oldLogProbs: Float64Array.from(kept, (i) => old[i]!),
      },
    );
    expect(packed.gradLogits).toEqual(rowsOf(padded.gradLogits));
    expect(packed.rowFigures).toEqual(padded.rowFigures);
    expect(packed.total).toBe(padded.total);
  });

  test("rows with NaN, with +∞ and without a finite logit are those of the three calls", () => {
    const form = TOKENS[0]!;
    const p = problem(12, form, "float32", { layout: "padded", mask: "none", kl: true });
    const logits = (p.logits as Float32Array).slice();
    logits[2] = NaN;
    logits[V + 3] = Infinity;
    logits.fill(-Infinity, 2 * V, 3 * V);
    logits[3 * V + p.targets[3]!] = -Infinity;
    const { total: _, ...want } = composed({ ...p, logits }, {}, backend);
    const { total: __, entropyLoss: ___, ...got } = fused({ ...p, logits }, {}, backend);
    expect(got).toEqual(want);
  });

  test("the asynchronous form has the bits of the other, also in many blocks", async () => {
    const p = problem(8, TOKENS[0]!, "bfloat16", { layout: "padded", mask: "some", kl: true });
    const { options, entropy, dtype } = p;
    const call = { ...options, dtype, entropy, backend } as unknown as TokenLossFromLogitsOptions<"gradLogProbs">;
    await expect(tokenLossFromLogitsAsync(p.logits, p.targets, call)).resolves.toEqual(
      tokenLossFromLogits(p.logits, p.targets, call),
    );

    const wide = 2 ** 19; // two rows a block
    const logits = new Float32Array(3 * wide);
    const values = rng(5).normal(1009);
    for (let i = 0; i < logits.length; i += 1009) logits.set(values.subarray(0, Math.min(1009, logits.length - i)), i);
    const many = {
      form: "linear",
      offsets: Int32Array.of(0, 1, 3),
      advantages: Float64Array.of(1, -2),
      mask: Uint8Array.of(1, 1, 1),
      backend,
    } as const;
    const ids = [0, 5, wide - 1];
    const [apart, whole] = [await tokenLossFromLogitsAsync(logits, ids, many), tokenLossFromLogits(logits, ids, many)];
    expect(Buffer.compare(new Uint8Array(apart.gradLogits.buffer), new Uint8Array(whole.gradLogits.buffer))).toBe(0);
    expect(apart.logProbs).toEqual(whole.logProbs);
    const reason = new Error("enough");
    await expect(tokenLossFromLogitsAsync(logits, ids, { ...many, signal: AbortSignal.abort(reason) })).rejects.toBe(
      reason,
    );
  });

  test("no tokens: nothing to do", () => {
    const none = {
      form: "linear",
      shape: [0, 3],
      advantages: new Float32Array(0),
      advantagesPer: "row",
      backend,
    } as const;
    expect(tokenLossFromLogits(new Float32Array(0), [], none)).toMatchObject({
      total: 0,
      gradLogits: new Float32Array(0),
    });
    const masked = {
      form: "linear",
      shape: [1, 2],
      advantages: Float32Array.of(1),
      mask: new Uint8Array(2),
      backend,
    } as const;
    const got = tokenLossFromLogits(new Float32Array(6).fill(NaN), [-100, -100], masked);
    expect(got.gradLogits).toEqual(new Float32Array(6));
    expect(got).toMatchObject({ total: 0, logProbs: new Float32Array(2) });
  });
});

describe("bad input", () => {
  const logits = new Float32Array(2 * 3 * 4);
  const base = { form: "clip", clipLow: 0.2, clipHigh: 0.2, shape: [2, 3], advantages: new Float32Array(2) } as const;
  const call =
    (changes: object, x: unknown = logits, targets: unknown = new Int32Array(6)) =>
    () =>
      tokenLossFromLogits(x as Float32Array, targets as Int32Array, { ...base, ...changes });

  test.each([
    ["a form of rows", call({ form: "gamma" }), "ERR_SURPRISAL_OPTION", /form/],
    ["a missing width", call({ clipHigh: undefined }), "ERR_SURPRISAL_OPTION", /clipHigh/],
    [
      "logits that are no rows",
      call({}, new Float32Array(25)),
      "ERR_SURPRISAL_SHAPE",
      /logits\.length is 25, expected a whole number of ids for each of 6 tokens/,
    ],
    ["logits of another vocabulary", call({ vocab: 5 }), "ERR_SURPRISAL_SHAPE", /logits has 24 elements, expected 30/],
    ["a vocabulary that is no number", call({ vocab: 2.5 }), "ERR_SURPRISAL_SHAPE", /vocab/],
    [
      "a tensor of other rows",
      call({}, { data: logits, dims: [3, 8], type: "float32" }),
      "ERR_SURPRISAL_SHAPE",
      /logits\.shape is 3, expected 6 rows/,
    ],
    ["half types without a name", call({}, new Uint16Array(24)), "ERR_SURPRISAL_DTYPE", /dtype/],
    ["float64 logits", call({}, new Float64Array(24)), "ERR_SURPRISAL_DTYPE", /logits/],
    [
      "targets of two a token",
      call({}, logits, new Int32Array(12)),
      "ERR_SURPRISAL_SHAPE",
      /targets has 12 elements, expected 6/,
    ],
    ["no targets", call({}, logits, null), "ERR_SURPRISAL_DTYPE", /targets/],
    [
      "a target past the vocabulary",
      call({}, logits, [0, 1, 2, 3, 4, 0]),
      "ERR_SURPRISAL_RANGE",
      /targets\[4\] is 4, expected 0\.\.3.*mask leaves tokens out/,
    ],
    ["a temperature of 0", call({ temperature: 0 }), "ERR_SURPRISAL_OPTION", /temperature/],
    ["a stride below the vocabulary", call({ vocab: 4, stride: 3 }), "ERR_SURPRISAL_SHAPE", /stride/],
    ["a gradient of another type", call({ out: new Uint16Array(24) }), "ERR_SURPRISAL_DTYPE", /out/],
    [
      "a gradient over the advantages",
      call({ out: new Float32Array(base.advantages.buffer) }),
      "ERR_SURPRISAL_SHAPE",
      /out/,
    ],
    [
      "an entropy coefficient that is none",
      call({ entropy: { coefficient: NaN } }),
      "ERR_SURPRISAL_OPTION",
      /entropy\.coefficient/,
    ],
    [
      "entropy weights of the wrong length",
      call({ entropy: { coefficient: 1, rowWeights: new Float64Array(3) } }),
      "ERR_SURPRISAL_SHAPE",
      /entropy\.rowWeights/,
    ],
    [
      "a KL kind of its own",
      call({ kl: { referenceLogProbs: new Float32Array(6), kind: "k4" } }),
      "ERR_SURPRISAL_OPTION",
      /kl\.kind/,
    ],
  ])("%s", (_, run, code, message) => {
    expect(run).toThrow(message);
    expect(run).toThrow(expect.objectContaining({ code }) as Error);
  });

  test("nothing is written where a call is refused", () => {
    const out = new Float32Array(24).fill(7);
    expect(call({ out }, logits, [0, 1, 2, 3, 4, 0])).toThrow();
    expect(out).toEqual(new Float32Array(24).fill(7));
    const shifted = new Float32Array(logits.length + 4);
    expect(call({ out: shifted.subarray(4) }, shifted.subarray(0, 24))).toThrow(
      expect.objectContaining({ code: "ERR_SURPRISAL_BUFFER" }) as Error,
    );
  });
});
