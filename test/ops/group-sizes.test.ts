// Groups of very different sizes share a warp of a device: each has the bits that it has alone.
import { groupNormalize, type GroupConventions } from "../../lib/ops/group";
import { eachBackend } from "../support/each-backend";
import { rng } from "../support/rng";

const SIZES = [1, 256, 3, 64, 17, 2, 128, 9, 257, 5, 33, 8, 600, 16, 7, 65, 4, 255, 1, 40];

eachBackend((backend) => {
  test.each<[string, Partial<GroupConventions>]>([
    ["the default", {}],
    ["leave one out", { center: "leaveOneOut", nan: "abstain" }],
    ["by the others", { scale: "others" }],
  ])("a group has the same bits alone and among larger and smaller ones: %s", (_, options) => {
    const sizes = [...SIZES, ...[...SIZES].reverse(), ...SIZES];
    const groups = Int32Array.from(sizes.flatMap((size, g) => Array<number>(size).fill(g)));
    const values = rng(3).normal(groups.length, 1, 2);
    values[300] = NaN; // of the fourth group
    const all = groupNormalize(values, { ...options, groups, backend });
    let begin = 0;
    sizes.forEach((size, g) => {
      const own = groupNormalize(values.slice(begin, begin + size), {
        ...options,
        groups: new Int32Array(size),
        backend,
      });
      const bits = (x: NodeJS.TypedArray) => Buffer.from(x.buffer, x.byteOffset, x.byteLength).toString("hex");
      expect(bits(all.normalized.slice(begin, begin + size))).toEqual(bits(own.normalized));
      expect(bits(all.means.slice(g, g + 1))).toEqual(bits(own.means));
      begin += size;
    });
  });
});
