// Rows in their three forms, one from another.
import { packRows, padRows, unpackRows, unpadRows } from "../../lib/experience";

const rows = [Int32Array.of(1, 2), Int32Array.of(3), Int32Array.of(), Int32Array.of(4, 5, 6)];
const packed = { values: Int32Array.of(1, 2, 3, 4, 5, 6), offsets: Int32Array.of(0, 2, 3, 3, 6) };
const lengths = Int32Array.of(2, 1, 0, 3);

test("lists and packed rows", () => {
  expect(packRows(rows)).toEqual(packed);
  expect(unpackRows(packed.values, lengths)).toEqual(rows);
});

test.each([
  ["right", [1, 2, 9, 9, 3, 9, 9, 9, 9, 9, 9, 9, 4, 5, 6, 9], [1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0]],
  ["left", [9, 9, 1, 2, 9, 9, 9, 3, 9, 9, 9, 9, 9, 4, 5, 6], [0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 1, 1]],
] as const)("a matrix with its filling on the %s, and back", (side, values, present) => {
  const padded = padRows(packed.values, { offsets: packed.offsets, side, fill: 9, width: 4 });
  expect(padded).toEqual({
    values: Int32Array.from(values),
    shape: [4, 4],
    present: Uint8Array.from(present),
    lengths,
  });
  expect(unpadRows(padded.values, padded)).toEqual(packed);
});

test("the width is that of the longest row, the filling 0 and on the right", () => {
  const { values, shape } = padRows(packed.values, { offsets: packed.offsets });
  expect(shape).toEqual([4, 3]);
  expect(values).toEqual(Int32Array.of(1, 2, 0, 3, 0, 0, 0, 0, 0, 4, 5, 6));
});
