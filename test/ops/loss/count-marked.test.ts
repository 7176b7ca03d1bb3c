// The count of a mask's bytes that are not 0, four at a time or one by one.
import { countMarked } from "../../../lib/ops/loss/count-marked";

const of = (n: number, byte: (i: number) => number): Uint8Array => Uint8Array.from({ length: n }, (_, i) => byte(i));

test.each([0, 1, 127, 128, 131, 1020, 1023, 1024, 5003])("%d bytes", (n) => {
  const masks = {
    ones: of(n, () => 1),
    zeros: of(n, () => 0),
    "zeros and ones": of(n, (i) => Number(i % 3 !== 0)),
    "any byte": of(n, (i) => (i * 7) & 255),
    "a large byte late": of(n, (i) => (i === n - 2 ? 128 : i & 1)),
  };
  for (const [name, mask] of Object.entries(masks))
    expect([name, countMarked(mask, n)]).toEqual([name, mask.filter((byte) => byte !== 0).length]);
});

test("bytes of an odd place, and no more than were asked for", () => {
  const mask = of(3000, (i) => i % 5).subarray(1);
  expect(countMarked(mask, 2000)).toBe(mask.subarray(0, 2000).filter((byte) => byte !== 0).length);
});
