// Groups of very different sizes share a warp of a device or registers of a processor: each has the bits that it has alone.
import { groupNormalize, type GroupConventions } from "../../lib/ops/group";
import { groupNormalizeOracle } from "../oracle/group";
import { eachBackend } from "../support/each-backend";
import { rng } from "../support/rng";

const SIZES = [1, 256, 3, 64, 17, 2, 128, 9, 257, 5, 33, 8, 600, 16, 7, 65, 4, 255, 1, 40];
const MIXED = [...SIZES, ...[...SIZES].reverse(), ...SIZES];
const even = (size: number, groups: number) => Array<number>(groups).fill(size);
const drawn = (least: number, most: number, groups: number) => {
  const draw = rng(most);
  return Array.from({ length: groups }, () => least + Math.floor((most - least + 1) * draw.uniform()));
};

const LAYOUTS: [string, readonly number[]][] = [
  ["all sizes", MIXED],
  ["of 2 to 4", drawn(2, 4, 150)],
  ["of 2 to 8", drawn(2, 8, 150)],
  ["of 2 to 16", drawn(2, 16, 150)],
  ["of 17 to 64", drawn(17, 64, 150)],
  ["of 900 to 1,100", drawn(900, 1100, 40)],
  ...[4, 8, 16, 32].map((size): [string, number[]] => [`of ${size}`, even(size, 150)]),
];

const CONVENTIONS: [string, Partial<GroupConventions>][] = [
  ["the default", {}],
  ["leave one out", { center: "leaveOneOut", nan: "abstain" }],
  ["by the others", { scale: "others" }],
];

const bits = (x: NodeJS.TypedArray) => Buffer.from(x.buffer, x.byteOffset, x.byteLength).toString("hex");

eachBackend((backend) => {
  const cases = LAYOUTS.flatMap(([layout, sizes]) =>
    CONVENTIONS.flatMap(([name, options]) =>
      (["float32", "float64"] as const).map((dtype) => ({ layout, sizes, name, options, dtype })),
    ),
  );
  test.each(cases)(
    "a group has the same bits alone and among others: $layout, $name, $dtype",
    ({ sizes, options, dtype }) => {
      const groups = Int32Array.from(sizes.flatMap((size, g) => even(g, size)));
      const normal = rng(3).normal(groups.length, 1, 2);
      const values = dtype === "float32" ? Float32Array.from(normal) : Float64Array.from(normal);
      values[300] = NaN; // its group's alone
      const begins = sizes.map((_, g) => groups.indexOf(g));
      values.fill(0.1, begins[9], begins[10]); // equal numbers, whose sum is rounded
      const all = groupNormalize(values, { ...options, groups, backend });
      sizes.forEach((size, g) => {
        const begin = begins[g]!;
        const own = groupNormalize(values.slice(begin, begin + size), {
          ...options,
          groups: new Int32Array(size),
          backend,
        });
        expect(bits(all.normalized.slice(begin, begin + size))).toEqual(bits(own.normalized));
        expect(bits(all.means.slice(g, g + 1))).toEqual(bits(own.means));
        expect(bits(all.stds.slice(g, g + 1))).toEqual(bits(own.stds));
      });
    },
  );

  // From a number that lies apart deviations are large, and nearly equal.
  test.each([8, 16, 64, 1000])("a first item far from the others costs a group of %i nothing", (size) => {
    const G = 20;
    const values = rng(8).normal(size * G, 0, 1);
    for (let g = 0; g < G; ++g) values[g * size] = 1e6 * (g + 1);
    const members = Array.from({ length: G }, (_, g) => Array.from({ length: size }, (_, k) => g * size + k));
    const want = groupNormalizeOracle(values, members, {
      center: "mean",
      scale: "std",
      ddof: 1,
      epsilon: 1e-6,
      varianceFloor: 0,
      singleton: "zero",
      nan: "propagate",
    });
    const made = groupNormalize(values, {
      groupOffsets: Int32Array.from({ length: G + 1 }, (_, g) => g * size),
      backend,
    });
    made.normalized.forEach((y, i) =>
      expect(Math.abs(y - want.normalized[i]!)).toBeLessThanOrEqual(1e-6 * Math.abs(want.normalized[i]!)),
    );
    made.stds.forEach((std, g) => expect(Math.abs(std - want.stds[g]!)).toBeLessThanOrEqual(1e-6 * want.stds[g]!));
  });
});
