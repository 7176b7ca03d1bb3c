import { discountedReturns, gae, type MaskMode, vtrace } from "../../lib";
import { gaeOracle, type MaskedRow, type PlainRow, plainRows, returnsOracle, vtraceOracle } from "../oracle/scan";
import { eachBackend } from "../support/each-backend";
import { rng } from "../support/rng";

const MODES: readonly MaskMode[] = ["skip", "steps", "cut"];

// float32 outputs of float64 sums: half an ulp (6e-8) and a little. float64: the order of a few dozen additions.
const F32 = { atol: 1e-7, rtol: 1e-7 };
const F64 = { atol: 1e-13, rtol: 1e-13 };

type Outputs = [Float32Array, Float32Array, Float32Array] | [Float64Array, Float64Array, Float64Array];

const bytes = (values: Float32Array | Float64Array) => Buffer.from(values.buffer, values.byteOffset, values.byteLength);

/** Rows of a padded batch, each handed to the oracle after the mask mode has rewritten it. */
function expectRows(
  rows: readonly MaskedRow[],
  mode: MaskMode,
  size: number,
  oracle: (row: PlainRow) => Record<string, readonly number[]>,
): Record<string, Float64Array> {
  const expected: Record<string, Float64Array> = {};
  for (const row of rows.flatMap((masked) => plainRows(masked, mode)))
    for (const [name, values] of Object.entries(oracle(row))) {
      const out = (expected[name] ??= new Float64Array(size));
      row.position.forEach((i, t) => (out[i] = values[t]!));
    }
  return expected;
}

/** A batch of ragged kept tokens; 37 columns: no power of two and more than a warp. */
function batch(seed: number, float64: boolean) {
  const r = rng(seed);
  const B = 5;
  const T = 37;
  const n = B * T;
  const float = (lo: number, hi: number) => (float64 ? r.f64(n, lo, hi) : r.f32(n, lo, hi));
  const reward = float(-1, 1);
  const value = float(-1, 1);
  const weight = float(0, 2);
  const discount = float(0.5, 1);
  const mask = r.mask(n, 0.7);
  const bootstrap = float64 ? r.f64(B, -1, 1) : r.f32(B, -1, 1);
  const rows = (gamma: number, perToken: boolean): MaskedRow[] =>
    Array.from({ length: B }, (_, b) => ({
      begin: b * T,
      end: (b + 1) * T,
      reward,
      value,
      weight,
      mask,
      gamma,
      bootstrap: bootstrap[b]!,
      ...(perToken && { discount }),
    }));
  return { n, shape: [B, T] as const, reward, value, weight, discount, mask, bootstrap, rows };
}

eachBackend((backend) => {
  describe.each(MODES)("maskMode %s", (maskMode) => {
    test.each([
      ["float32", false, F32],
      ["float64", true, F64],
    ] as const)("gae equals the double sum over later steps (%s)", (_, float64, tolerance) => {
      const { n, shape, reward, value, mask, bootstrap, rows } = batch(1, float64);
      const got = gae(reward, value, { shape, gamma: 0.99, lambda: 0.95, mask, maskMode, bootstrap, backend });
      const want = expectRows(rows(0.99, false), maskMode, n, (row) => ({ ...gaeOracle(row, 0.95) }));
      expect(got.advantages).toBeAllClose(want["advantages"]!, tolerance);
      expect(got.returns).toBeAllClose(want["returns"]!, tolerance);
      expect(got.advantages).toBeInstanceOf(float64 ? Float64Array : Float32Array);
    });

    // Under "steps" a masked token decays by the plain gamma, which a per-token discount does not have: 1.
    test("gae takes a discount per token", () => {
      const { n, shape, reward, value, discount, mask, bootstrap, rows } = batch(2, true);
      const got = gae(reward, value, { shape, gamma: discount, lambda: 0.9, mask, maskMode, bootstrap, backend });
      const want = expectRows(rows(1, true), maskMode, n, (row) => ({ ...gaeOracle(row, 0.9) }));
      expect(got.advantages).toBeAllClose(want["advantages"]!, F64);
    });

    test("gae takes a lambda per row", () => {
      const { n, shape, reward, value, mask, bootstrap, rows } = batch(7, true);
      const lambda = Float64Array.from({ length: shape[0] }, (_, b) => b / shape[0]);
      const got = gae(reward, value, { shape, gamma: 0.97, lambda, mask, maskMode, bootstrap, backend });
      rows(0.97, false).forEach((row, b) => {
        const want = expectRows([row], maskMode, n, (plain) => ({ ...gaeOracle(plain, lambda[b]!) }));
        const own = (of: ArrayLike<number>) => Array.from(of).slice(row.begin, row.end);
        expect(own(got.advantages)).toBeAllClose(own(want["advantages"]!), F64);
        expect(own(got.returns)).toBeAllClose(own(want["returns"]!), F64);
      });
      expect(() => gae(reward, value, { shape, gamma: 1, lambda: lambda.map(() => 2), backend })).toThrow(
        /lambda\[0\] is 2/,
      );
      expect(() => gae(reward, value, { shape, gamma: 1, lambda: lambda.subarray(1), backend })).toThrow(/lambda has/);
    });

    test("gae and vtrace take a lambda per token, that of a token for what comes after it", () => {
      const { n, shape, reward, value, weight, discount, mask, bootstrap, rows } = batch(8, true);
      const lambda = rng(9).f64(n, 0, 1);
      const options = {
        shape,
        gamma: discount,
        lambda,
        lambdaPer: "token",
        mask,
        maskMode,
        bootstrap,
        backend,
      } as const;
      const caps = { lambda: 1, rhoBar: 1, cBar: 0.8, pgRhoBar: 1.3 };
      const own = rows(1, true).map((row) => ({ ...row, lambda }));
      const plain = gae(reward, value, options);
      const ofGae = expectRows(own, maskMode, n, (row) => ({ ...gaeOracle(row, 1) }));
      expect(plain.advantages).toBeAllClose(ofGae["advantages"]!, F64);
      expect(plain.returns).toBeAllClose(ofGae["returns"]!, F64);
      const corrected = vtrace(reward, value, weight, { ...caps, ...options });
      const ofVtrace = expectRows(own, maskMode, n, (row) => ({ ...vtraceOracle(row, caps) }));
      expect(corrected.targets).toBeAllClose(ofVtrace["targets"]!, F64);
      expect(corrected.advantages).toBeAllClose(ofVtrace["advantages"]!, F64);
      const poisoned = lambda.map((x, i) => (mask[i] ? x : NaN));
      expect(gae(reward, value, { ...options, lambda: poisoned })).toEqual(plain);
      expect(vtrace(reward, value, weight, { ...caps, ...options, lambda: poisoned })).toEqual(corrected);
      const at = mask.indexOf(1);
      const wrong = lambda.map((x, i) => (i === at ? 1.5 : x));
      expect(() => gae(reward, value, { ...options, lambda: wrong })).toThrow(`lambda[${at}] is 1.5`);
    });

    // Rows of every length up to three registers of any level; holes at their begins, ends and longer than a register.
    test("gae takes a lambda per token in rows of any length, packed, and reads none under the mask", () => {
      const r = rng(11);
      const offsets = Int32Array.from([0, ...Array.from({ length: 50 }, (_, b) => b + 1)]);
      for (let b = 0; b < 50; ++b) offsets[b + 1]! += offsets[b]!;
      const n = offsets[50]!;
      for (const kept of [1, 0.9, 0.3]) {
        const [reward, value, lambda] = [r.f64(n, -1, 1), r.f64(n, -1, 1), r.f64(n, 0, 1)];
        const mask = r.mask(n, kept);
        for (let b = 20; b < 50; b += 7) mask.fill(0, offsets[b]! + (b % 5), offsets[b]! + 19);
        const bootstrap = r.f64(50, -1, 1);
        const rows = Array.from({ length: 50 }, (_, b): MaskedRow => {
          const row = { begin: offsets[b]!, end: offsets[b + 1]!, reward, value, mask, lambda };
          return { ...row, gamma: 0.97, bootstrap: bootstrap[b]! };
        });
        const want = expectRows(rows, maskMode, n, (row) => ({ ...gaeOracle(row, 1) }));
        const poisoned = lambda.map((x, i) => (mask[i] ? x : NaN));
        const options = { offsets, gamma: 0.97, lambda: poisoned, mask, maskMode, bootstrap, backend };
        const got = gae(reward, value, options);
        expect(got.advantages).toBeAllClose(want["advantages"]!, F64);
        expect(got.returns).toBeAllClose(want["returns"]!, F64);
        for (const b of [0, 7, 27, 49]) {
          const cut = <A extends Float64Array | Uint8Array>(array: A): A =>
            array.slice(offsets[b], offsets[b + 1]) as A;
          const alone = gae(cut(reward), cut(value), {
            ...options,
            offsets: Int32Array.of(0, b + 1),
            lambda: cut(poisoned),
            lambdaPer: "token",
            mask: cut(mask),
            bootstrap: bootstrap.slice(b, b + 1),
          });
          expect(alone.advantages).toEqual(cut(got.advantages as Float64Array));
        }
      }
    });

    test("a lambda per row or token that is the same everywhere gives what the number gives, within the order of sums", () => {
      const { n, shape, reward, value, weight, mask, bootstrap } = batch(10, true);
      const options = { shape, gamma: 0.97, mask, maskMode, bootstrap, backend };
      const per = (lambda: number | Float64Array) => ({
        ...gae(reward, value, { ...options, lambda }),
        ...vtrace(reward, value, weight, { ...options, lambda }),
      });
      const want = per(0.8);
      if (maskMode !== "steps") expect(per(new Float64Array(n).fill(0.8))).toBeAllClose(want, F64);
      expect(per(new Float64Array(shape[0]).fill(0.8))).toBeAllClose(want, F64);
    });

    test("discountedReturns equals the double sum", () => {
      const { n, shape, reward, mask, bootstrap, rows } = batch(3, true);
      const got = discountedReturns(reward, { shape, gamma: 0.9, mask, maskMode, bootstrap, backend });
      const want = expectRows(rows(0.9, false), maskMode, n, (row) => ({ returns: returnsOracle(row) }));
      expect(got).toBeAllClose(want["returns"]!, F64);
    });

    test("vtrace equals its definition", () => {
      const { n, shape, reward, value, weight, mask, bootstrap, rows } = batch(4, true);
      const caps = { lambda: 0.9, rhoBar: 1, cBar: 0.8, pgRhoBar: 1.3 };
      const got = vtrace(reward, value, weight, { shape, gamma: 0.97, ...caps, mask, maskMode, bootstrap, backend });
      const want = expectRows(rows(0.97, false), maskMode, n, (row) => ({ ...vtraceOracle(row, caps) }));
      expect(got.targets).toBeAllClose(want["targets"]!, F64);
      expect(got.advantages).toBeAllClose(want["advantages"]!, F64);
    });

    test("what lies under the mask cannot leak", () => {
      const { shape, reward, value, weight, discount, mask } = batch(5, false);
      const poison = (array: Float32Array | Float64Array) => Float32Array.from(array, (x, i) => (mask[i] ? x : NaN));
      const both = { shape, mask, maskMode, backend } as const;
      const options = { ...both, lambda: 0.9 };
      expect(gae(poison(reward), poison(value), { ...options, gamma: poison(discount) })).toEqual(
        gae(reward, value, { ...options, gamma: discount }),
      );
      expect(discountedReturns(poison(reward), { ...both, gamma: 1 })).toEqual(
        discountedReturns(reward, { ...both, gamma: 1 }),
      );
      expect(vtrace(poison(reward), poison(value), poison(weight), { ...options, gamma: 1 })).toEqual(
        vtrace(reward, value, weight, { ...options, gamma: 1 }),
      );
    });
  });

  test("with lambda and gamma 1 and no values an advantage is the sum of the later rewards", () => {
    const reward = Float64Array.of(1, 2, 4, 8);
    const got = gae(reward, new Float64Array(4), { shape: [1, 4], gamma: 1, lambda: 1, backend });
    expect([...got.advantages]).toEqual([15, 14, 12, 8]);
  });

  test("an episode that ends inside a row is cut by a discount of 0", () => {
    const reward = Float64Array.of(1, 2, 4, 8);
    const got = discountedReturns(reward, { shape: [1, 4], gamma: Float64Array.of(1, 0, 1, 1), backend });
    expect([...got]).toEqual([3, 2, 12, 8]);
  });

  test("rows together give the bits of each row alone", () => {
    const { shape, reward, value, mask } = batch(6, false);
    const [B, T] = shape;
    const whole = gae(reward, value, { shape, gamma: 0.99, lambda: 0.95, mask, backend });
    for (let b = 0; b < B; ++b) {
      const cut = <A extends Float32Array | Float64Array | Uint8Array>(array: A): A =>
        array.slice(b * T, (b + 1) * T) as A;
      const alone = gae(cut(reward), cut(value), {
        shape: [1, T],
        gamma: 0.99,
        lambda: 0.95,
        mask: cut(mask),
        backend,
      });
      expect(alone.advantages).toEqual(cut(whole.advantages));
    }
  });

  test("packed rows equal the same rows padded, also when a row is empty", () => {
    const r = rng(7);
    const lengths = [3, 0, 5, 1];
    const offsets = Int32Array.of(0, 3, 3, 8, 9);
    const reward = r.f32(9, -1, 1);
    const value = r.f32(9, -1, 1);
    const T = 5;
    const padded = (array: Float32Array) => {
      const out = new Float32Array(lengths.length * T).fill(NaN);
      lengths.forEach((length, b) => out.set(array.subarray(offsets[b], offsets[b]! + length), b * T));
      return out;
    };
    const mask = Uint8Array.from({ length: lengths.length * T }, (_, i) =>
      i % T < lengths[Math.floor(i / T)]! ? 1 : 0,
    );
    const bootstrap = r.f32(4, -1, 1);
    const options = { gamma: 0.9, lambda: 0.8, bootstrap, backend } as const;
    const packed = gae(reward, value, { offsets, ...options });
    const wide = gae(padded(reward), padded(value), { shape: [lengths.length, T], mask, ...options });
    lengths.forEach((length, b) => {
      expect(packed.advantages.subarray(offsets[b], offsets[b]! + length)).toEqual(
        wide.advantages.subarray(b * T, b * T + length),
      );
    });
  });

  test("a float64 carry holds 32768 undiscounted float32 steps to 1e-7", () => {
    const r = rng(8);
    const T = 32768;
    const reward = r.f32(T, -1, 1);
    const value = r.f32(T, -1, 1);
    const got = gae(reward, value, { shape: [1, T], gamma: 1, lambda: 1, backend });
    // γ = λ = 1 telescopes: advantage = Σ later rewards − value. Summed from the front, another order than the carry's.
    const later = new Float64Array(T + 1);
    const total = reward.reduce((sum, x) => sum + x, 0);
    let before = 0;
    for (let t = 0; t < T; ++t) {
      later[t] = total - before;
      before += reward[t]!;
    }
    expect(got.advantages).toBeAllClose(
      Float64Array.from(value, (v, t) => later[t]! - v),
      { atol: 1e-7, rtol: 1e-7 },
    );
  });

  test("NaN spreads to earlier steps of its row and to no other row", () => {
    const reward = Float32Array.of(1, NaN, 1, 1, 1, 1);
    const got = gae(reward, new Float32Array(6), { shape: [2, 3], gamma: 1, lambda: 1, backend });
    expect([...got.advantages].map(Number.isNaN)).toEqual([true, true, false, false, false, false]);
  });

  test.each([[[0, 4] as const], [[4, 0] as const]])("an empty batch %j gives empty results", (shape) => {
    const none = new Float32Array(0);
    expect(gae(none, none, { shape, gamma: 1, lambda: 1, backend }).advantages).toHaveLength(0);
  });

  test("results land in the caller's memory", () => {
    const out = { advantages: new Float32Array(2), returns: new Float32Array(2) };
    const got = gae(Float32Array.of(1, 1), Float32Array.of(0, 0), { shape: [1, 2], gamma: 1, lambda: 1, out, backend });
    expect(got.advantages).toBe(out.advantages);
    expect([...out.advantages, ...out.returns]).toEqual([2, 1, 2, 1]);
  });

  test("resizable and shared memory are read like any other", () => {
    const shared = new Float32Array(new SharedArrayBuffer(8)).fill(1);
    // Node 20 knows resizable buffers, the TypeScript library of ES2023 does not.
    const Resizable = ArrayBuffer as unknown as new (length: number, options: { maxByteLength: number }) => ArrayBuffer;
    const resizable = new Float32Array(new Resizable(8, { maxByteLength: 16 })).fill(0);
    expect([...gae(shared, resizable, { shape: [1, 2], gamma: 1, lambda: 1, backend }).advantages]).toEqual([2, 1]);
  });
});

eachBackend((backend) => {
  // A cut is an end: what lies behind it, NaN and infinities too, reaches no token before it.
  test.each([NaN, Infinity])("%p behind a cut stays there, wherever it lies", (poison) => {
    const T = 40;
    const rewards = rng(3).f32(T, -1, 1);
    const values = rng(4).f32(T, -1, 1);
    for (let cut = 1; cut < T - 1; ++cut) {
      const mask = new Uint8Array(T).fill(1);
      mask[cut] = 0;
      const poisoned = rewards.slice();
      poisoned[cut + 1] = poison;
      const both = { shape: [1, T], gamma: 0.9, mask, maskMode: "cut", backend } as const;
      const options = { ...both, lambda: 0.8 };
      const clean = gae(rewards, values, options);
      const got = gae(poisoned, values, options);
      expect(got.advantages.subarray(0, cut + 1)).toEqual(clean.advantages.subarray(0, cut + 1));
      expect(discountedReturns(poisoned, both).subarray(0, cut + 1)).toEqual(
        discountedReturns(rewards, both).subarray(0, cut + 1),
      );
    }
  });
});

eachBackend((backend) => {
  // γ(V + λA) and γV + γλA are the same for finite γ alone: NaN is the answer that depends on neither order nor place.
  test("an infinite discount makes its token and those before it NaN, and no other", () => {
    const [T, at] = [40, 17];
    const gamma = new Float64Array(T).fill(0.5);
    gamma[at] = Infinity;
    const [rewards, values] = [new Float64Array(T), new Float64Array(T).fill(2)];
    const options = { shape: [1, T], gamma, bootstrap: Float64Array.of(1), backend } as const;
    const isNaNUpTo = (scan: ArrayLike<number>) =>
      expect(Array.from(scan, Number.isNaN)).toEqual(Array.from(scan, (_, i) => i <= at));
    isNaNUpTo(discountedReturns(rewards, options));
    const { advantages, returns } = gae(rewards, values, { ...options, lambda: 0.5 });
    isNaNUpTo(advantages);
    isNaNUpTo(returns);
    isNaNUpTo(vtrace(rewards, values, new Float64Array(T).fill(1), options).targets);
  });
});

// Large outputs leave past the cache, in lines of memory that no row begins or ends with.
test.each([
  ["float32", Float32Array],
  ["float64", Float64Array],
] as const)("rows of a batch larger than the cache have the bits of each row alone (%s)", (_, Floats) => {
  const r = rng(9);
  const lengths = [1_200_000, 0, 5, 100, ...Array.from({ length: 9000 }, (_, b) => 97 + (b % 40)), 17];
  const offsets = Int32Array.from([0, ...lengths]);
  for (let b = 0; b < lengths.length; ++b) offsets[b + 1]! += offsets[b]!;
  const n = offsets.at(-1)!;
  const block = r.f32(4096, -1, 1);
  const values = new Floats(n).map((_, i) => block[(i * 7) % 4096]!);
  const rewards = new Floats(n).map((_, i) => block[(i * 5 + 11) % 4096]!);
  const mask = new Uint8Array(n).map((_, i) => (i % 300 < 260 ? 1 : 0));
  const backend = "cpu" as const;
  const options = { gamma: 0.99, lambda: 0.95, backend } as const;
  for (const before of [1, 6]) {
    const memory = [new Floats(n + 16).fill(7), new Floats(n + 16).fill(7), new Floats(n + 16).fill(7)] as const;
    const [advantages, returns, discounted] = memory.map((all) => all.subarray(before, before + n)) as Outputs;
    gae(rewards, values, { offsets, mask, ...options, out: { advantages, returns } });
    discountedReturns(rewards, { offsets, mask, gamma: 0.99, backend, out: { returns: discounted } });
    const beside = memory.flatMap((all) => [...all.subarray(0, before), ...all.subarray(before + n)]);
    expect(beside).toEqual(Array<number>(48).fill(7));
    for (const b of [0, 2, 3, 4, 5, 4000, 9002, lengths.length - 1]) {
      const row = [offsets[b]!, offsets[b + 1]!] as const;
      const shape = [1, lengths[b]!] as const;
      const cut = { shape, mask: mask.slice(...row) };
      const alone = gae(rewards.slice(...row), values.slice(...row), { ...options, ...cut });
      expect(Buffer.compare(bytes(advantages.slice(...row)), bytes(alone.advantages))).toBe(0);
      expect(Buffer.compare(bytes(returns.slice(...row)), bytes(alone.returns))).toBe(0);
      const one = discountedReturns(rewards.slice(...row), { ...cut, gamma: 0.99, backend });
      expect(Buffer.compare(bytes(discounted.slice(...row)), bytes(one))).toBe(0);
    }
  }
});
