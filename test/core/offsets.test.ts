// Offsets as the checks of rows and groups see them: how far apart they are, and what goes down. Short ones take a loop, long ones native
// code where it is loaded, else the loop.
import * as fc from "fast-check";

import { nativeAddon } from "../../lib/backend/addon";
import { checkOffsets, spacingsBy } from "../../lib/core/offsets";

const native = nativeAddon();
const why = "reason" in native ? ` (skipped: ${native.reason})` : "";
const LONG = 2000;

const check = (offsets: Int32Array): number => checkOffsets("op", "offsets", offsets);

/** Of the numbers behind `zeros` zeros. */
function firstDown(rest: readonly number[], zeros: number): void {
  const offsets = new Int32Array(zeros + rest.length);
  offsets.set(rest, zeros);
  const down = offsets.findIndex((x, b) => b > 0 && x < offsets[b - 1]!);
  if (down < 0) expect(() => check(offsets)).not.toThrow();
  else
    expect(() => check(offsets)).toThrow(`op: offsets[${down}] is ${offsets[down]}, expected >= ${offsets[down - 1]}`);
}

const offset = fc.oneof(fc.integer({ min: -3, max: 9 }), fc.constantFrom(2 ** 30, 2 ** 31 - 1, -(2 ** 31), -(2 ** 30)));

function holds(rows: readonly number[], zeros: number): void {
  test("offsets that are equally far apart answer how far, all others -1", () => {
    for (const size of [0, 1, 8, 1000])
      for (const count of rows) {
        const even = Int32Array.from({ length: count + 1 }, (_, b) => b * size);
        expect(check(even)).toBe(count === 0 ? 0 : size);
        for (const b of new Set([2, 3, 5, count >> 1, count - 1, count]))
          if (b >= 2 && b <= count) {
            const uneven = even.map((x, k) => (k >= b ? x + 1 : x));
            expect(check(uneven)).toBe(-1);
          }
      }
  });

  test("the first offset below its predecessor is named, over the whole range of int32", () => {
    fc.assert(
      fc.property(fc.array(offset, { maxLength: 12 }), fc.boolean(), (rest, sorted) =>
        firstDown(sorted ? rest.sort((a, b) => a - b) : rest, zeros),
      ),
    );
    // Steps of 2^30 that wrap around to where they would be in int32.
    firstDown([0, 2 ** 30, -(2 ** 31), -(2 ** 30), 0], zeros);
  });
}

describe("few offsets", () =>
  holds(
    Array.from({ length: 12 }, (_, rows) => rows),
    1,
  ));

describe("many offsets, no native code", () => {
  beforeAll(() => spacingsBy(() => undefined));
  holds([LONG, LONG + 1, LONG + 2, LONG + 3], LONG);
});

("reason" in native ? describe.skip : describe)(`many offsets, native code${why}`, () => {
  const addon = "addon" in native ? native.addon : (undefined as never);
  let asked = 0;
  beforeAll(() =>
    spacingsBy((offsets) => {
      ++asked;
      return addon.spacingOf(offsets);
    }),
  );
  holds([LONG, LONG + 1, LONG + 2, LONG + 3, LONG + 7], LONG);

  test("it was native code that answered", () => expect(asked).toBeGreaterThan(100));

  test("of what are no offsets native code says nothing", () => {
    for (const wrong of [undefined, null, 3, "0", [0, 1], {}, new Float32Array(3), new Int32Array(0)])
      expect(addon.spacingOf(wrong as never)).toBeUndefined();
    expect((addon.spacingOf as () => unknown)()).toBeUndefined();
  });
});
