// KL divergences over a whole vocabulary of logits of at most 32 bits, which a device sums in a way of its own: where powers vanish, where
// ids are masked, where the two rows are nearly one.
import { divergence, divergenceBackward } from "surprisal";
import { divergenceOracle } from "../../oracle/divergence";
import { eachBackend } from "../../support/each-backend";
import { rng } from "../../support/rng";
import { numbersOf, stored } from "./rows";

const DTYPES = ["float32", "float16", "bfloat16"] as const;
const SIDES = [0, 1] as const;

type Row = Float32Array | Float64Array;

/** ln of the probabilities. */
function logsOf(row: Row): Float64Array {
  const x = Float64Array.from(row);
  const most = x.reduce((a, b) => Math.max(a, b), -Infinity);
  const total = x.reduce((sum, v) => sum + Math.exp(v - most), 0);
  return x.map((v) => v - most - Math.log(total));
}

/** KL(P ‖ Q) of two close rows: Σ P (d + exp(−d) − 1) with d = ln(P / Q), in which nothing cancels. */
function excessOf(of: Float32Array, from: Float32Array): number {
  const [p, q] = [logsOf(of), logsOf(from)];
  return p.reduce((sum, log, j) => {
    const d = log - q[j]!;
    let series = 0;
    for (let n = 14; n >= 2; --n) series = ((1 + series) * -d) / n;
    return sum + Math.exp(log) * -d * series;
  }, 0);
}

/** The gradient of a KL divergence over the vocabulary to the student's logits. */
function slopesOf(student: Row, teacher: Row, beta: number, value: number): Float64Array {
  const [s, t] = [logsOf(student), logsOf(teacher)];
  return s.map((log, j) => {
    const S = Math.exp(log);
    if (beta === 0) return S - Math.exp(t[j]!);
    return S === 0 ? 0 : S * (log - t[j]! - value);
  });
}

eachBackend((backend) => {
  describe.each(DTYPES)("%s logits", (dtype) => {
    test.each(SIDES)("ids masked on one side, beta %d: infinite, and a gradient where there is one", (beta) => {
      // The masked ids lie among others, so that most of a row is as any other.
      const V = 600;
      const [x, y] = [Float64Array.from(rng(1).normal(V, 0, 2)), Float64Array.from(rng(2).normal(V, 0, 2))];
      for (const side of [x, y]) side[301] = -Infinity;
      const options = { shape: [1, V] as const, dtype, beta, backend };
      const at = (): [number, Float64Array] => {
        const [student, teacher] = [stored([x], dtype), stored([y], dtype)];
        const grad = divergenceBackward(student.logits, teacher.logits, Float64Array.of(1), options);
        return [divergence(student.logits, teacher.logits, options)[0]!, numbersOf(grad, dtype)];
      };
      const [together, gradient] = at();
      const [student, teacher] = [stored([x], dtype).rows[0]!, stored([y], dtype).rows[0]!];
      expect(together).toBeCloseTo(divergenceOracle(student, teacher, { beta }), 12);
      expect(gradient[301]).toBe(0);
      (beta === 0 ? x : y)[17] = -Infinity;
      const [apart, slopes] = at();
      expect(apart).toBe(Infinity);
      if (beta === 0) expect(slopes[17]).toBeLessThan(0);
      else expect([slopes[17], slopes[301]]).toEqual([NaN, 0]);
      expect(slopes.every((g) => Number.isNaN(g))).toBe(false);
    });

    test("powers that vanish, beside others: as by the definition", () => {
      const V = 520;
      const [x, y] = [Float64Array.from(rng(3).normal(V, 0, 3)), Float64Array.from(rng(4).normal(V, 0, 3))];
      [x[5], y[5], x[130], y[131]] = [-690, -640, -760, -1000]; // the last two are 0 in float64
      x[400] = y[400] = -3e4;
      const [student, teacher] = [stored([x], dtype), stored([y], dtype)];
      for (const temperature of [1, 0.01, 1000]) {
        const options = { shape: [1, V] as const, dtype, beta: 1, temperature, backend };
        // In logarithms, so that a power of 0 has a logarithm.
        const logs = [student, teacher].map(({ rows: [row] }) => {
          const most = Math.max(...row!);
          const total = row!.reduce((sum, v) => sum + Math.exp((v - most) / temperature), 0);
          return row!.map((v) => (v - most) / temperature - Math.log(total));
        }) as [Float64Array, Float64Array];
        const terms = logs[0].map((s, j) => (Math.exp(s) === 0 ? 0 : s - logs[1][j]!));
        const want = logs[0].reduce((sum, s, j) => sum + Math.exp(s) * terms[j]!, 0);
        const got = divergence(student.logits, teacher.logits, options)[0]!;
        expect(Math.abs(got - want)).toBeLessThanOrEqual(1e-12 * want + 1e-12);
        const grad = divergenceBackward(student.logits, teacher.logits, Float64Array.of(temperature), options);
        const unit = { float32: 2 ** -24, float16: 2 ** -11, bfloat16: 2 ** -8 }[dtype];
        numbersOf(grad, dtype).forEach((g, j) => {
          const exact = Math.exp(logs[0][j]!) * (terms[j]! - want);
          expect(Math.abs(g - exact)).toBeLessThanOrEqual(
            1e-11 * (1 + want) + 1.001 * unit * Math.abs(exact) + 2 ** -25,
          );
        });
      }
    });
  });

  test.each(SIDES)("nearly equal rows, beta %d: within 1e-14 of half the variance of the difference", (beta) => {
    const V = 300;
    const [tiny, delta] = [2 ** -20, rng(6).i32(V, -8, 8)];
    const x = Float32Array.from(rng(5).f64(V, -2, 2), (v) => Math.round(v * 2 ** 16) / 2 ** 16);
    const y = x.map((v, j) => v + tiny * delta[j]!); // 21 bits: exact
    const e = Float64Array.from(x, Math.exp);
    const total = e.reduce((s, v) => s + v, 0);
    const mean = e.reduce((s, v, j) => s + v * delta[j]!, 0) / total;
    const variance = e.reduce((s, v, j) => s + v * (delta[j]! - mean) ** 2, 0) / total;
    const want = (variance * tiny ** 2) / 2; // about 1e-11; the next order is 1e-5 of it
    const got = divergence(x, y, { shape: [1, V], beta, backend })[0]!;
    expect(Math.abs(got - want)).toBeLessThanOrEqual(1e-14 + 1e-4 * want);
    expect(got).toBeGreaterThanOrEqual(0);
    expect(divergence(x, x.slice(), { shape: [1, V], beta, backend })).toEqual(Float64Array.of(0));
  });

  test.each(SIDES)("logits that rise along a row, first ids masked on one side or both, beta %d", (beta) => {
    const V = 2600; // several blocks of ids on every backend
    const rising = Float32Array.from(rng(7).normal(V, 0, 2), (v, j) => v + (60 * j) / V);
    const falling = Float32Array.from(rng(8).normal(V, 0, 2), (v, j) => v + (60 * (V - j)) / V);
    const wave = Float32Array.from(rng(9).normal(V, 0, 2), (v, j) => v + 20 * Math.sin(j / 300));
    const masked = (row: Float32Array, count: number) => row.map((v, j) => (j < count ? -Infinity : v));
    // What is masked on one side alone has a probability on the other: of that one KL is asked for that stays finite.
    const pairs: [Float32Array, Float32Array][] = [
      [rising, wave],
      [wave, rising],
      [falling, rising],
      [masked(rising, 1100), masked(wave, 1100)],
      [masked(wave, beta === 0 ? 0 : 1100), masked(rising, beta === 0 ? 1100 : 0)],
      [masked(wave, beta === 0 ? 300 : 1400), masked(falling, beta === 0 ? 1400 : 300)],
    ];
    for (const [student, teacher] of pairs) {
      const options = { shape: [1, V] as const, beta, backend };
      const want = divergenceOracle(student, teacher, { beta });
      const got = divergence(student, teacher, options)[0]!;
      expect(Math.abs(got - want)).toBeLessThanOrEqual(1e-12 * want);
      const slopes = divergenceBackward(Float64Array.from(student), Float64Array.from(teacher), Float64Array.of(1), {
        ...options,
        shape: [1, V],
      });
      const exact = slopesOf(student, teacher, beta, want);
      exact.forEach((g, j) => expect(Math.abs(slopes[j]! - g)).toBeLessThanOrEqual(1e-12 * (1 + want)));
    }
  });

  test.each(SIDES)("ids far below or above those before them in a few blocks or in most, beta %d", (beta) => {
    const V = 9300;
    for (const [every, far, temperature] of [
      [700, -Infinity, 0.9],
      [700, -730, 1], // a power between the least one and 0
      [4000, 6, 1],
      [9000, 30, 0.9],
    ] as const) {
      const [student, teacher] = [14, 15].map((seed) =>
        Float32Array.from(rng(seed).normal(V, 0, 2), (v, j) => (j % every === every - 1 ? far + v / 100 : v)),
      ) as [Float32Array, Float32Array];
      const options = { shape: [1, V] as const, beta, temperature, backend };
      const want = divergenceOracle(student, teacher, { beta, temperature });
      const got = divergence(student, teacher, options)[0]!;
      expect(Math.abs(got - want)).toBeLessThanOrEqual(1e-12 * want + 1e-14);
      const wide = [student, teacher].map((row) => Float64Array.from(row)) as [Float64Array, Float64Array];
      const slopes = divergenceBackward(...wide, Float64Array.of(temperature), options);
      const exact = slopesOf(...(wide.map((row) => row.map((v) => v / temperature)) as typeof wide), beta, want);
      exact.forEach((g, j) => expect(Math.abs(slopes[j]! - g)).toBeLessThanOrEqual(1e-12 * (1 + want)));
    }
  });

  test.each(SIDES)("a last id far above all others on one side, beta %d: the others keep their distance", (beta) => {
    const V = 2600;
    const plain = Float32Array.from(rng(12).normal(V, 0, 2));
    const high = Float32Array.from(rng(13).normal(V, 0, 2));
    high[V - 1] = 1500; // exp of the distance is 0 in float64
    // KL(P ‖ Q) in logarithms, of the one that stays near its definition: P is the row without the high id.
    const [student, teacher] = beta === 0 ? [high, plain] : [plain, high];
    const [p, q] = [logsOf(plain), logsOf(high)];
    const want = p.reduce((sum, log, j) => sum + Math.exp(log) * (log - q[j]!), 0);
    const options = { shape: [1, V] as const, beta, backend };
    expect(divergence(student, teacher, options)[0]! / want).toBeCloseTo(1, 12);
    const wide = [student, teacher].map((row) => Float64Array.from(row)) as [Float64Array, Float64Array];
    const slopes = divergenceBackward(...wide, Float64Array.of(1), options);
    const exact = slopesOf(student, teacher, beta, want);
    exact.forEach((g, j) => expect(Math.abs(slopes[j]! - g)).toBeLessThanOrEqual(1e-12 * (1 + want)));
    expect(divergence(...wide, options)[0]! / want).toBeCloseTo(1, 12);
  });

  test.each(SIDES)("logits whose distance no float64 holds, beta %d: infinite, or of one id alone", (beta) => {
    const V = 1100;
    const plain = new Float64Array(V).fill(-1.5e308);
    const high = plain.slice();
    high[V - 1] = 1.5e308;
    const [student, teacher] = beta === 0 ? [high, plain] : [plain, high];
    const options = { shape: [1, V] as const, beta, backend };
    expect(divergence(student, teacher, options)[0]).toBe(Infinity);
    expect(divergence(teacher, student, options)[0]).toBeCloseTo(Math.log(V), 12);
  });

  test.each(SIDES)("rows about as close as it takes to sum them otherwise, beta %d: 12 digits", (beta) => {
    const V = 1500;
    for (const step of [0.03, 0.04, 0.044, 0.045, 0.046, 0.05, 0.06]) {
      const student = Float32Array.from(rng(10).normal(V, 0, 1));
      const teacher = Float32Array.from(rng(11).normal(V, 0, step), (v, j) => student[j]! + v);
      const want = excessOf(beta === 0 ? teacher : student, beta === 0 ? student : teacher);
      const got = divergence(student, teacher, { shape: [1, V], beta, backend })[0]!;
      expect(want).toBeGreaterThan(3e-4);
      expect(want).toBeLessThan(3e-3);
      expect(Math.abs(got - want)).toBeLessThanOrEqual(1e-12 * want + 1e-14);
    }
  });

  test("temperatures at the ends of their range keep the numbers apart", () => {
    const x = Float32Array.of(1000, 1001, 999, 1000.5);
    const y = Float32Array.of(-3, -4, -3.5, -2);
    const at = (temperature: number, beta: number) =>
      divergence(x, y, { shape: [1, 4], temperature, beta, backend })[0]!;
    for (const beta of SIDES) {
      expect(at(1e30, beta)).toBeLessThan(1e-14);
      expect(at(1e-30, beta)).toBeGreaterThan(1e29); // the largest logits are of different ids
    }
  });
});
