// The group number of each item, which of many items is made when it is read.
import { groupEntropy, groupLogSumExp, groupNormalize, groupTop2 } from "../../lib";

type Layout = { readonly groupOffsets: Int32Array } | { readonly groups: readonly string[] };
type Op = (values: Float64Array, layout: Layout) => { readonly groupIds: Int32Array };

const OPS: Readonly<Record<string, Op>> = {
  groupEntropy: (values, layout) => groupEntropy(values, layout),
  groupLogSumExp: (values, layout) => groupLogSumExp(values, layout),
  groupNormalize: (values, layout) => groupNormalize(values, layout),
  groupTop2: (values, layout) => groupTop2(values, layout),
};
const SIZES = [3, 0, 5, 1];

describe.each([
  ["few items", 9],
  ["many items", 1800],
])("%s", (_, items) => {
  const values = Float64Array.from({ length: items }, (__, i) => 1 + (i % 7));
  const ids = Int32Array.from({ length: items }, () => 0);
  const ends = [0];
  for (let g = 0, at = 0; at < items; ++g) {
    const end = Math.min(at + SIZES[g % SIZES.length]!, items);
    ids.fill(g, at, end);
    ends.push((at = end));
  }
  const shuffled = Array.from(ids, (__, i) => `prompt ${(i * 5) % 11}`);
  const byAppearance = [...new Set(shuffled)];

  test.each(Object.entries(OPS))("%s counts groups by offsets and by labels", (__, op) => {
    const offsets = Int32Array.from(ends);
    const result = op(values, { groupOffsets: offsets });
    offsets.fill(0); // the caller's, who may use it again
    expect(result.groupIds).toEqual(ids);
    expect(result.groupIds).toBe(result.groupIds);
    expect({ ...result }.groupIds).toEqual(ids);
    expect(op(values, { groups: shuffled }).groupIds).toEqual(
      Int32Array.from(shuffled, (label) => byAppearance.indexOf(label)),
    );
  });
});
