// Counts of kept tokens are exact, also where a vector of bytes would overflow: past 255 of its lengths, which go to 64.
import { countKept } from "../../../lib/ops/reduce";
import { eachBackend } from "../../support/each-backend";

const LENGTHS = [0, 1, 15, 16, 17, 31, 33, 63, 64, 65, 1000].concat(
  [16, 32, 64].flatMap((bytes) => [255 * bytes - 1, 255 * bytes, 255 * bytes + 1, 256 * bytes, 257 * bytes + 5]),
  [2 ** 20, 2 ** 20 + 1],
);

eachBackend((backend) => {
  test("rows that are kept whole, of every length around what a register counts", () => {
    const offsets = Int32Array.from([0, ...LENGTHS]);
    for (let b = 1; b < offsets.length; ++b) offsets[b]! += offsets[b - 1]!;
    const mask = new Uint8Array(offsets.at(-1)!).fill(1);
    expect([...countKept({ offsets, mask, backend })]).toEqual(LENGTHS);
    expect([...countKept({ offsets, backend })]).toEqual(LENGTHS);
    // Any number that is not 0 keeps.
    expect([...countKept({ offsets, mask: mask.fill(255), backend })]).toEqual(LENGTHS);
  });

  test.each(LENGTHS.filter((length) => length > 0 && length < 2 ** 20))(
    "of %i tokens the first alone, the last alone, all but these",
    (length) => {
      const of = (kept: (t: number) => boolean): number =>
        countKept({ shape: [1, length], mask: Uint8Array.from({ length }, (_, t) => Number(kept(t))), backend })[0]!;
      expect(of((t) => t === 0)).toBe(1);
      expect(of((t) => t === length - 1)).toBe(1);
      expect(of((t) => t > 0 && t < length - 1)).toBe(Math.max(0, length - 2));
    },
  );
});
