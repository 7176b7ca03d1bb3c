// Offsets as the checks of rows and groups see them: how far apart they are, and what goes down.
import * as fc from "fast-check";

import { checkOffsets } from "../../lib/core/row-layout";

test("offsets that are equally far apart answer how far, all others -1", () => {
  expect(checkOffsets("op", "offsets", Int32Array.of(0))).toBe(0);
  for (const size of [0, 1, 8, 1000])
    for (let rows = 1; rows < 12; ++rows) {
      const even = Int32Array.from({ length: rows + 1 }, (_, b) => b * size);
      expect(checkOffsets("op", "offsets", even)).toBe(size);
      for (let b = 2; b <= rows; ++b) {
        const uneven = even.map((offset, k) => (k >= b ? offset + 1 : offset));
        expect(checkOffsets("op", "offsets", uneven)).toBe(-1);
      }
    }
});

test("the first offset below its predecessor is named, over the whole range of int32", () => {
  const offset = fc.oneof(
    fc.integer({ min: -3, max: 9 }),
    fc.constantFrom(2 ** 30, 2 ** 31 - 1, -(2 ** 31), -(2 ** 30)),
  );
  fc.assert(
    fc.property(fc.array(offset, { maxLength: 12 }), fc.boolean(), (rest, sorted) => {
      if (sorted) rest.sort((a, b) => a - b);
      const offsets = Int32Array.from([0, ...rest]);
      const down = offsets.findIndex((x, b) => b > 0 && x < offsets[b - 1]!);
      const check = (): number => checkOffsets("op", "offsets", offsets);
      if (down < 0) expect(check).not.toThrow();
      else expect(check).toThrow(`op: offsets[${down}] is ${offsets[down]}, expected >= ${offsets[down - 1]}`);
    }),
  );
  // Steps of 2^30 that wrap around to where they would be in int32.
  expect(() => checkOffsets("op", "offsets", Int32Array.of(0, 2 ** 30, -(2 ** 31), -(2 ** 30), 0))).toThrow(
    "op: offsets[2] is -2147483648",
  );
});
