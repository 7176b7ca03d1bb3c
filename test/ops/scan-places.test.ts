// The bits of a row depend on that row alone: not on where it lies, what lies beside it, or how a device shares the work of a call.
import { discountedReturns, gae, prefixSums, shareWeights, tailSums, toDevice, vtrace } from "surprisal";
import { eachBackend } from "../support/each-backend";
import { eachDeviceBackend } from "../support/each-device";
import { rng } from "../support/rng";

type Floats = Float32Array | Float64Array;

interface Rows {
  readonly offsets: Int32Array;
  readonly rewards: Floats;
  readonly values: Floats;
  readonly weights: Floats;
  readonly mask: Uint8Array;
}

const TYPES = [
  ["float32", Float32Array],
  ["float64", Float64Array],
] as const;
const DECAYS = { gamma: 0.99, lambda: 0.95 } as const;

/** What lies under the mask is NaN, the ends of most rows too. */
function rowsOf(lengths: readonly number[], Type: typeof Float32Array | typeof Float64Array): Rows {
  const offsets = Int32Array.from([0, ...lengths]);
  for (let b = 0; b < lengths.length; ++b) offsets[b + 1]! += offsets[b]!;
  const n = offsets.at(-1)!;
  const mask = new Uint8Array(n).map((_, i) => (i * 7919) % 11 && 1);
  lengths.forEach((length, b) => {
    if (length > 2 && b % 4) mask[offsets[b]!] = mask[offsets[b + 1]! - 1] = 0;
  });
  const r = rng(n);
  const pool = [r.f64(4093, -1, 1), r.f64(4093, -1, 1), r.f64(4093, 0, 2)] as const;
  const tokens = (from: Float64Array) => new Type(n).map((_, i) => (mask[i] ? from[i % 4093]! : NaN));
  return { offsets, rewards: tokens(pool[0]), values: tokens(pool[1]), weights: tokens(pool[2]), mask };
}

const part = ({ offsets, rewards, values, weights, mask }: Rows, from: number, to: number): Rows => {
  const [begin, end] = [offsets[from]!, offsets[to]!];
  return {
    offsets: offsets.slice(from, to + 1).map((i) => i - begin),
    rewards: rewards.slice(begin, end),
    values: values.slice(begin, end),
    weights: weights.slice(begin, end),
    mask: mask.slice(begin, end),
  };
};

function scans(rows: Rows, backend: "cpu" | "js" | "cuda" | "emulated" | "wasm"): Floats[] {
  const { offsets, rewards, values, weights, mask } = rows;
  const options = { offsets, mask, backend, ...DECAYS };
  const { advantages, returns } = gae(rewards, values, options);
  const { targets, advantages: gains } = vtrace(rewards, values, weights, options);
  const rowsOnly = { offsets, mask, backend } as const;
  const { weights: shares, products } = shareWeights(rewards, { ...rowsOnly, gain: 0.5 });
  return [
    advantages,
    returns,
    discountedReturns(rewards, { ...rowsOnly, gamma: 0.99 }),
    targets,
    gains,
    prefixSums(rewards, rowsOnly),
    tailSums(rewards, { ...rowsOnly, gamma: 0.999 }),
    tailSums(rewards, { ...rowsOnly, gamma: 0.999, normalize: true }),
    shares,
    products,
  ];
}

function expectBits(got: readonly Floats[], want: readonly Floats[]): void {
  got.forEach((values, k) => {
    const [a, b] = [values, want[k]!].map((x) => Buffer.from(x.buffer, x.byteOffset, x.byteLength)) as [Buffer, Buffer];
    expect(a.equals(b)).toBe(true);
  });
}

const EVERY_LENGTH = Array.from({ length: 161 }, (_, k) => ((k * 37) % 161) + 1);

eachBackend((backend) => {
  test.each(TYPES)("a row of 1 to 161 tokens has the bits of that row alone (%s)", (_, Type) => {
    const rows = rowsOf(EVERY_LENGTH, Type);
    const all = scans(rows, backend);
    for (let b = 0; b < EVERY_LENGTH.length; ++b) {
      const [begin, end] = [rows.offsets[b]!, rows.offsets[b + 1]!];
      expectBits(
        all.map((values) => values.slice(begin, end)),
        scans(part(rows, b, b + 1), backend),
      );
    }
  });

  // More rows than a device scans at once, two and three times over, and a few long ones among them.
  test("a row among thousands has the bits that it has among hundreds", () => {
    const lengths = Array.from({ length: 8_501 }, (_, b) => (b % 1250 === 7 ? 300 : b % 517 === 0 ? 140 : b % 9));
    const rows = rowsOf(lengths, Float32Array);
    const all = scans(rows, backend);
    for (let b = 0; b < lengths.length; b += 425) {
      const end = Math.min(b + 425, lengths.length);
      expectBits(
        all.map((values) => values.slice(rows.offsets[b], rows.offsets[end])),
        scans(part(rows, b, end), backend),
      );
    }
  });

  // Alone a device cuts it into strips, among a few rows a block takes it, among many a warp.
  test("a row of 34 strips has the same bits alone, among a few rows and among many", () => {
    const long = 33 * 7680 + 100;
    const rows = rowsOf([long, ...Array<number>(299).fill(1)], Float32Array);
    const alone = scans(part(rows, 0, 1), backend);
    for (const count of [2, 264, 300]) {
      const beside = scans(part(rows, 0, count), backend);
      expectBits(
        beside.map((values) => values.slice(0, long)),
        alone,
      );
    }
  });

  // A strip of four arrays of float64 finds no room in the shared memory of a block, which reads it again.
  test("the same of discounts of tokens, in float64", () => {
    const long = 33 * 7680 + 100;
    const rows = rowsOf([long, ...Array<number>(299).fill(1)], Float64Array);
    const discounted = (count: number) => {
      const { offsets, rewards, values, weights, mask } = part(rows, 0, count);
      const gamma = values.map((value) => 1 - 0.01 * value * value);
      const options = { offsets, mask, backend, gamma, lambda: 0.95 };
      const { targets, advantages } = vtrace(rewards, values, weights, options);
      return [targets, advantages].map((numbers) => numbers.slice(0, long) as Floats);
    };
    for (const count of [2, 300]) expectBits(discounted(count), discounted(1));
  });
});

eachDeviceBackend((backend) => {
  // The first and the last row too: nothing outside of an array is read into a result, and nothing there is written.
  test.each(TYPES)("arrays may begin and end at every address that suits their type (%s)", (type, Type) => {
    const rows = rowsOf([5, ...EVERY_LENGTH.slice(0, 40), 300, 3], Type);
    const want = scans(rows, backend);
    const n = rows.rewards.length;
    // Begins of the rewards, values, weights, mask and outputs, in elements.
    for (const [r, v, w, m, o] of [
      [1, 1, 1, 1, 1],
      [3, 2, 1, 15, 3],
      [2, 3, 0, 7, 1],
      [0, 1, 2, 2, 0],
    ] as const) {
      const inside = (values: Floats, begin: number) => {
        const whole = new Type(n + 8).fill(NaN);
        whole.set(values, begin);
        return toDevice(whole, { backend }).view(begin, begin + n);
      };
      const flags = new Uint8Array(n + 32).fill(1);
      flags.set(rows.mask, m);
      const mask = toDevice(flags, { backend }).view(m, m + n);
      const [rewards, values, weights] = [inside(rows.rewards, r), inside(rows.values, v), inside(rows.weights, w)];
      const memory = Array.from({ length: 10 }, () => toDevice(new Type(n + 8).fill(7), { backend, dtype: type }));
      const [advantages, returns, discounted, targets, gains, sums, tails, means, shares, products] = memory.map(
        (whole) => whole.view(o, o + n),
      );
      const options = { offsets: rows.offsets, mask, ...DECAYS };
      gae(rewards, values, { ...options, out: { advantages: advantages!, returns: returns! } });
      discountedReturns(rewards, { offsets: rows.offsets, mask, gamma: 0.99, out: { returns: discounted! } });
      vtrace(rewards, values, weights, { ...options, out: { targets: targets!, advantages: gains! } });
      const rowsOnly = { offsets: rows.offsets, mask };
      prefixSums(rewards, { ...rowsOnly, out: { sums: sums! } });
      tailSums(rewards, { ...rowsOnly, gamma: 0.999, out: { tails: tails! } });
      tailSums(rewards, { ...rowsOnly, gamma: 0.999, normalize: true, out: { tails: means! } });
      shareWeights(rewards, { ...rowsOnly, gain: 0.5, out: { weights: shares!, products: products! } });
      const got = memory.map((whole) => whole.read());
      expectBits(
        got.map((whole) => whole.slice(o, o + n)),
        want,
      );
      expect(got.flatMap((whole) => [...whole.slice(0, o), ...whole.slice(o + n)])).toEqual(Array<number>(80).fill(7));
    }
  });
});
