// Padding behind a row changes no bit of the row: not where the row is cut, nor who scans it.
import { discountedReturns, type FloatArray, gae, prefixSums, shareWeights, tailSums, vtrace } from "../../lib";
import { type BackendName, eachBackend } from "../support/each-backend";
import { rng } from "../support/rng";

// Tokens of a row, and columns that it is padded to: to either side of where a device changes how it scans, a part of a warp, a warp
// (tiles of 480 tokens), several warps, strips of 7680 tokens; and to a second section of 32 strips.
const WIDTHS = [
  [100, [101, 144, 145, 150, 151, 240, 241, 480, 481, 961, 7681]],
  [148, [149, 151, 481]],
  [700, [701, 961, 7681]],
  [7700, [7701, 33 * 7680]],
] as const;

const ROWS = 2;
const TYPES = [
  ["float32", Float32Array],
  ["float64", Float64Array],
] as const;
type Numbers = (typeof TYPES)[number][1];

/** Rows of tokens, a share of them kept; in more columns those behind are masked, and NaN. */
class Batch {
  readonly shape: readonly [number, number];
  readonly mask: Uint8Array;

  constructor(
    private readonly Type: Numbers,
    private readonly count: number,
    private readonly columns: number,
    share: number,
  ) {
    this.shape = [ROWS, columns];
    this.mask = this.widened(rng(count).mask(ROWS * count, share), new Uint8Array(ROWS * columns));
  }

  tokens(seed: number, low: number, high: number): FloatArray {
    const wide = new this.Type(ROWS * this.columns).fill(NaN);
    return this.widened(rng(seed).f64(ROWS * this.count, low, high), wide);
  }

  /** Without the padding. */
  own(results: object): Record<string, number[]> {
    const cut = (all: ArrayLike<number>) =>
      Array.from({ length: ROWS }, (_, b) =>
        Array.from({ length: this.count }, (_token, t) => all[b * this.columns + t]!),
      ).flat();
    return Object.fromEntries(Object.entries(results).map(([name, all]) => [name, cut(all as FloatArray)]));
  }

  private widened<A extends FloatArray | Uint8Array>(narrow: ArrayLike<number>, wide: A): A {
    for (let i = 0; i < narrow.length; ++i) {
      const b = Math.floor(i / this.count);
      wide[b * this.columns + (i % this.count)] = narrow[i]!;
    }
    return wide;
  }
}

type Call = (batch: Batch, backend: BackendName) => object;

const layout = ({ shape, mask }: Batch, backend: BackendName) => ({ shape, mask, backend });
const values = (batch: Batch) => [batch.tokens(1, -1, 1), batch.tokens(2, -1, 1)] as const;

const CALLS: Readonly<Record<string, Call>> = {
  ...Object.fromEntries(
    (["skip", "steps", "cut"] as const).flatMap((maskMode): [string, Call][] => [
      [
        `gae, ${maskMode}`,
        (batch, backend) => gae(...values(batch), { gamma: 0.97, lambda: 0.95, maskMode, ...layout(batch, backend) }),
      ],
      [
        `discountedReturns, ${maskMode}`,
        (batch, backend) => ({
          returns: discountedReturns(batch.tokens(1, -1, 1), { gamma: 0.97, maskMode, ...layout(batch, backend) }),
        }),
      ],
      [
        `vtrace, ${maskMode}`,
        (batch, backend) =>
          vtrace(...values(batch), batch.tokens(3, 0, 2), { gamma: 0.97, maskMode, ...layout(batch, backend) }),
      ],
    ]),
  ),
  ...Object.fromEntries(
    (["skip", "steps"] as const).map((maskMode): [string, Call] => [
      `tailSums, ${maskMode}`,
      (batch, backend) => ({
        tails: tailSums(batch.tokens(1, -1, 1), { gamma: 0.97, maskMode, ...layout(batch, backend) }),
      }),
    ]),
  ),
  "gae, a discount of each token": (batch, backend) =>
    gae(...values(batch), { gamma: batch.tokens(4, 0.9, 1), lambda: 0.95, ...layout(batch, backend) }),
  "gae, a state behind the row": (batch, backend) =>
    gae(...values(batch), {
      gamma: 0.97,
      lambda: 0.95,
      bootstrap: batch.tokens(5, -1, 1).slice(0, ROWS),
      ...layout(batch, backend),
    }),
  "tailSums, means": (batch, backend) => ({
    tails: tailSums(batch.tokens(1, -1, 1), { gamma: 0.97, normalize: true, ...layout(batch, backend) }),
  }),
  prefixSums: (batch, backend) => ({ sums: prefixSums(batch.tokens(1, -1, 1), layout(batch, backend)) }),
  shareWeights: (batch, backend) => shareWeights(batch.tokens(1, -1, 1), { gain: 0.5, ...layout(batch, backend) }),
};

eachBackend((backend) => {
  describe.each(TYPES)("%s", (_, Type) => {
    describe.each(WIDTHS)("%i tokens", (tokens, columns) => {
      test.each(Object.keys(CALLS))("%s", (name) => {
        for (const share of [0.8, 1]) {
          const bits = (width: number) => {
            const batch = new Batch(Type, tokens, width, share);
            return batch.own(CALLS[name]!(batch, backend));
          };
          const alone = bits(tokens);
          for (const width of columns) expect(bits(width)).toEqual(alone);
        }
      });
    });
  });
});
