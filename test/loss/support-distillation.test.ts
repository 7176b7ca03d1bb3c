// Distillation on a few ids of each row: values, gradients, floors, bounds, tails, several teachers.
import {
  combineLosses,
  distillationLoss,
  finiteMask,
  logprob,
  supportDistillation,
  topKDistillation,
  topLogits,
} from "../../lib";
import { eachBackend } from "../support/each-backend";
import { errorCode } from "../support/error-code";
import { rng } from "../support/rng";

const [N, V, K] = [5, 9, 3];
const shape = [N, V] as const;
const student = rng(11).f32(N * V, -3, 3);
const ids = Int32Array.from(Array.from({ length: N }, (_, n) => [n, n + 2, (n + 5) % V]).flat());
const teacherLogProbs = rng(12).f64(N * K, -4, -0.2);
const teacher = { ids, logProbs: teacherLogProbs };

/** The definition, of one row, from log-probs in float64. */
function define(s: readonly number[], all: readonly number[], t: readonly number[], beta: number, outside?: number) {
  const sum = (f: (k: number) => number): number => s.reduce((total, _, k) => total + f(k), 0);
  const forward = sum((k) => Math.exp(t[k]!) * (t[k]! - s[k]!));
  let reverse = sum((k) => Math.exp(s[k]!) * (s[k]! - t[k]!));
  if (outside !== undefined) {
    const others = all.filter((x) => !s.includes(x));
    reverse += others.reduce((total, x) => total + Math.exp(x) * (x - outside), 0);
  }
  return (1 - beta) * forward + beta * reverse;
}

function logSoftmax(row: readonly number[]): number[] {
  const max = Math.max(...row);
  const lse = max + Math.log(row.reduce((sum, x) => sum + Math.exp(x - max), 0));
  return row.map((x) => x - lse);
}

const valueOf = (logits: ArrayLike<number>, beta: number, outside?: number): number[] =>
  Array.from({ length: N }, (_, n) => {
    const all = logSoftmax(Array.from(logits).slice(n * V, (n + 1) * V));
    const own = Array.from(ids.subarray(n * K, (n + 1) * K));
    const t = Array.from(teacherLogProbs.subarray(n * K, (n + 1) * K));
    return define(
      own.map((id) => all[id]!),
      all,
      t,
      beta,
      outside,
    );
  });

eachBackend((backend) => {
  const base = { shape, backend };

  test.each([
    ["forward", 0, undefined],
    ["mixed", 0.3, undefined],
    ["reverse", 1, undefined],
    ["reverse with a tail", 1, -20],
    ["mixed with a tail", 0.4, -100],
  ] as const)("%s KL is its definition, and its gradient the slope of that", (_, beta, outsideLogProb) => {
    const got = topKDistillation(student, teacher, { ...base, beta, outsideLogProb });
    const want = valueOf(student, beta, outsideLogProb);
    expect(got.values).toBeAllClose(want, { rtol: 2e-6, atol: 2e-6 });
    expect(got.loss).toBeCloseTo(want.reduce((a, b) => a + b, 0) / N, 4);
    const slopes = Array.from(student, (_, j) => {
      const at = (d: number): number =>
        valueOf(
          Array.from(student, (x, i) => (i === j ? x + d : x)),
          beta,
          outsideLogProb,
        ).reduce((a, b) => a + b, 0);
      return (at(1e-4) - at(-1e-4)) / 2e-4 / N;
    });
    expect(got.gradStudentLogits).toBeAllClose(slopes, { rtol: 1e-5, atol: 5e-6 });
  });

  test("over the whole vocabulary it is distillationLoss", () => {
    const everyId = Int32Array.from({ length: N * V }, (_, i) => i % V);
    const other = rng(13).f32(N * V, -2, 2);
    const { logProbs } = logprob(other, everyId, base);
    for (const beta of [0, 1]) {
      const got = topKDistillation(student, { ids: everyId, logProbs }, { ...base, beta });
      const want = distillationLoss(student, other, { ...base, beta });
      expect(got.loss).toBeCloseTo(want.loss, 5);
      expect(got.gradStudentLogits).toBeAllClose(want.gradStudentLogits!, { atol: 1e-6 });
    }
  });

  test("what lies below the floor is constant, and so is a value outside of its bounds", () => {
    const { logProbs } = topKDistillation(student, teacher, base);
    const floor = -2;
    const got = topKDistillation(student, teacher, { ...base, floor, tokens: 1 });
    const floored = supportDistillation(
      logProbs.map((x) => Math.max(x, floor)),
      teacherLogProbs.map((x) => Math.max(x, floor)),
      { shape: [N, K], tokens: 1 },
    );
    expect(got.values).toBeAllClose(floored.values, { atol: 1e-12 });
    expect([...got.studentMasses]).toEqual([...topKDistillation(student, teacher, base).studentMasses]);
    const direct = supportDistillation(logProbs, teacherLogProbs, { shape: [N, K], floor });
    logProbs.forEach((x, i) => x < floor && expect(direct.gradLogProbs[i]).toBe(0));

    const high = [...got.values].sort((a, b) => a - b)[2]!;
    const bounded = topKDistillation(student, teacher, { ...base, floor, tokens: 1, valueRange: [-Infinity, high] });
    got.values.forEach((value, n) => {
      const row = (of: Float32Array) => of.subarray(n * V, (n + 1) * V);
      expect(bounded.values[n]).toBe(Math.min(value, high));
      expect(row(bounded.gradStudentLogits)).toBeAllClose(
        value > high ? new Float32Array(V) : row(got.gradStudentLogits),
        {
          atol: 0,
        },
      );
    });
  });

  test("several teachers, each on its rows, add up to one teacher on all", () => {
    const flags = [Uint8Array.of(1, 0, 1, 0, 0), Uint8Array.of(0, 1, 0, 1, 1)];
    const whole = topKDistillation(student, teacher, { ...base, tokens: N });
    const parts = flags.map((mask) => {
      // What a teacher says of the rows of another is not read.
      const logProbs = teacherLogProbs.map((x, i) => (mask[Math.floor(i / K)] === 0 ? NaN : x));
      return topKDistillation(student, { ids, logProbs }, { ...base, mask, tokens: N });
    });
    const { loss, gradLogProbs } = combineLosses(
      parts.map((part) => ({ loss: part.loss, gradLogProbs: part.gradStudentLogits })),
    );
    expect(loss).toBeCloseTo(whole.loss, 12);
    expect(gradLogProbs).toBeAllClose(whole.gradStudentLogits, { atol: 1e-12 });
  });

  test("overlaps count the ids that both find likely", () => {
    const likeliest = topLogits(student, K, base);
    const same = topKDistillation(student, { ids: likeliest, logProbs: teacherLogProbs }, base);
    expect([...same.overlaps]).toEqual([K, K, K, K, K]);
    const terms = same.logProbs.map((s, i) => Math.exp(teacherLogProbs[i]!) * (s - teacherLogProbs[i]!));
    expect(same.overlapAdvantages[0]).toBeCloseTo((terms[0]! + terms[1]! + terms[2]!) / K, 6);
    const least = topLogits(
      student.map((x) => -x),
      K,
      base,
    );
    const none = topKDistillation(student, { ids: least, logProbs: teacherLogProbs }, base);
    expect([...none.overlaps, ...none.overlapAdvantages]).toEqual(new Array(2 * N).fill(0));
  });

  test("the gradient may take the place of the logits", () => {
    const want = topKDistillation(student, teacher, base);
    const own = student.slice();
    const got = topKDistillation(own, teacher, { ...base, out: own });
    expect(own).toEqual(want.gradStudentLogits);
    expect(got.overlaps).toEqual(want.overlaps);
  });

  test("half-precision logits get a gradient of their kind, nothing at all a loss of 0", () => {
    const half = { data: new Uint16Array(N * V).fill(0x3f80), shape, dtype: "bfloat16" } as const;
    const got = topKDistillation(half, teacher, { backend });
    expect(got.gradStudentLogits).toBeInstanceOf(Uint16Array);
    const masked = topKDistillation(new Float32Array(N * V).fill(NaN), teacher, { ...base, mask: new Uint8Array(N) });
    expect([masked.loss, ...masked.values, ...masked.gradStudentLogits]).toEqual(new Array(1 + N + N * V).fill(0));
  });
});

test("rows in any order, apart or together, and poison under the mask give the same values and slopes", () => {
  const r = rng(14);
  const s = r.f64(N * K, -4, -0.2);
  const mask = Uint8Array.of(1, 0, 1, 1, 0);
  const options = { shape: [N, K] as const, beta: 0.4, tokens: 3 };
  const want = supportDistillation(s, teacherLogProbs, { ...options, mask });
  const poison = (values: Float64Array) => values.map((x, i) => (mask[Math.floor(i / K)] === 0 ? NaN : x));
  expect(supportDistillation(poison(s), poison(teacherLogProbs), { ...options, mask })).toEqual(want);
  const order = [3, 0, 4, 2, 1];
  const turned = <A extends Float64Array | Uint8Array>(values: A): A => {
    const width = values.length / N;
    return values.map((_, i) => values[order[Math.floor(i / width)]! * width + (i % width)]!) as A;
  };
  const got = supportDistillation(turned(s), turned(teacherLogProbs), { ...options, mask: turned(mask) });
  expect(got.values).toEqual(turned(want.values));
  expect(got.gradLogProbs).toEqual(turned(want.gradLogProbs as Float64Array));
  expect(got.loss).toBeCloseTo(want.loss, 14);
  for (let row = 0; row < N; ++row) {
    if (mask[row] === 0) continue;
    const cut = (values: Float64Array) => values.slice(row * K, (row + 1) * K);
    const alone = supportDistillation(cut(s), cut(teacherLogProbs), { ...options, shape: [1, K] });
    expect(alone.values[0]).toBe(want.values[row]);
    expect([...alone.gradLogProbs]).toEqual([...want.gradLogProbs.slice(row * K, (row + 1) * K)]);
  }
});

test("a probability of 0 adds nothing, where the other side has some nothing is finite", () => {
  const zero = supportDistillation(Float64Array.of(-Infinity, 0), Float64Array.of(-Infinity, 0), { shape: [1, 2] });
  expect([zero.loss, ...zero.gradLogProbs]).toEqual([0, 0, -1]);
  expect(supportDistillation(Float64Array.of(-Infinity), Float64Array.of(-1), { shape: [1, 1] }).loss).toBe(Infinity);
});

test("what is wrong is refused by name", () => {
  const call = (options: object) =>
    errorCode(() => supportDistillation(new Float32Array(4), new Float32Array(4), options as never));
  expect(call({ shape: [2, 2], beta: 2 })).toBe("ERR_SURPRISAL_OPTION");
  expect(call({ shape: [2, 2], beta: 1, outsideLogProb: -9 })).toBe("ERR_SURPRISAL_OPTION");
  expect(call({ shape: [2, 2], valueRange: [1, 0] })).toBe("ERR_SURPRISAL_OPTION");
  expect(call({ shape: [2, 3] })).toBe("ERR_SURPRISAL_SHAPE");
  const top = (of: object) => errorCode(() => topKDistillation(student, of as never, { shape }));
  expect(top({ ids: [1, 2], logProbs: new Float32Array(2) })).toBe("ERR_SURPRISAL_SHAPE");
  expect(top({ ids: new Int32Array(N).fill(V), logProbs: new Float32Array(N) })).toBe("ERR_SURPRISAL_RANGE");
});

test("finiteMask takes out what is no number, and counts it by row", () => {
  const values = Float32Array.of(-1, -Infinity, NaN, -2, Infinity, NaN);
  const where = { shape: [2, 3], mask: Uint8Array.of(1, 1, 1, 1, 1, 0) } as const;
  const all = finiteMask(values, where);
  expect([[...all.mask], [...all.values], [...all.dropped]]).toEqual([
    [1, 0, 0, 1, 0, 0],
    [-1, 0, 0, -2, 0, 0],
    [2, 1],
  ]);
  expect([...finiteMask(values, { ...where, drops: "infinite" }).values]).toEqual([-1, 0, NaN, -2, 0, 0]);
  expect([...finiteMask(values, { ...where, drops: "nan" }).mask]).toEqual([1, 1, 0, 1, 1, 0]);
});
