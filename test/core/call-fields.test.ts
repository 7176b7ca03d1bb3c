// A call of native code gets its numbers and arrays in the order of the op's struct, whatever order its caller names them in.
import { HAND_OVER } from "../../lib/backend/contract/ops";
import type { OpArgs } from "../../lib/backend/backend";

const SESSION = 7;
const [mask, counts] = [Uint8Array.of(1, 0), new Float64Array(1)];

function handedOver(args: object) {
  const numbers = new Float64Array(4).fill(9);
  const call = (...values: unknown[]) => values;
  const values = HAND_OVER.reduceCounts(call, numbers, SESSION, null, args as OpArgs<"reduceCounts">);
  return { numbers: [...numbers], values };
}

/** A bit each for mask and counts: behind the numbers stands which arrays there are. */
const THERE = 0b101;

test("in every order, and a field that the op does not have is passed over", () => {
  const expected = { numbers: [2, 1, 2, THERE], values: [SESSION, null, mask, null, counts] };
  expect(handedOver({ mask, offsets: null, n: 2, B: 1, T: 2, counts })).toEqual(expected);
  expect(handedOver({ counts, T: 2, beside: 1, B: 1, n: 2, offsets: null, mask })).toEqual(expected);
});

test("a number that a call lacks is NaN, which native code refuses, and not that of the call before", () => {
  expect(handedOver({ mask, offsets: null, n: 2, counts })).toEqual({
    numbers: [2, NaN, NaN, THERE],
    values: [SESSION, null, mask, null, counts],
  });
});
