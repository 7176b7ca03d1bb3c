// Filters of groups, levels of normalisation, shares of lengths, λ of lengths, roles, proximal log-probs and figures of engines.
import {
  expertBalance,
  groupFilter,
  lambdaOfLength,
  lengthSharePenalty,
  NO_BASELINES,
  normalizeLevels,
  parseControllers,
  proximalLogProbs,
  serializeControllers,
  speculativeDecodingMetrics,
  updateRoleBaselines,
} from "../../lib";
import { eachBackend } from "../support/each-backend";
import { rng } from "../support/rng";

test("groupFilter gives up groups that teach nothing, by each of its rules", () => {
  const values = Float32Array.of(1, 1, 0, 1, 0.5, 0.25);
  const groups = ["a", "a", "b", "b", "c", "c"];
  expect([...groupFilter(values, { groups, tolerance: 0 }).rows]).toEqual([2, 3, 4, 5]);
  expect([...groupFilter(values, { groups, tolerance: 0.25 }).keptGroups]).toEqual([0, 1, 0]);
  expect([...groupFilter(values, { groups, range: [0.5, 1] }).keptRows]).toEqual([0, 0, 1, 1, 1, 1]);
  expect([...groupFilter(values, { groups, meanInside: [0.4, 0.95] }).keptGroups]).toEqual([0, 1, 0]);
  const live = Uint8Array.of(1, 0, 1, 0, 0, 0); // one live row in a, one in b, none in c
  expect([...groupFilter(values, { groups, live, tolerance: 9 }).keptGroups]).toEqual([1, 1, 1]);
  expect(() => groupFilter(values, { groups, range: [1, 0] })).toThrow(/range is \[1, 0\], expected \[low, high\]/);
});

test("lengthSharePenalty takes from the longest of a group its whole weight", () => {
  const lengths = [{ counts: Int32Array.of(10, 5, 0), weight: 0.5 }];
  expect([...lengthSharePenalty(Float64Array.of(2, 2, 2), { groups: "all", lengths })]).toEqual([1, 1.5, 2]);
  expect([...lengthSharePenalty(Float64Array.of(2, 2, 4), { lengths, groups: [0, 0, 1] })]).toEqual([1, 1.5, 4]);
});

test("lambdaOfLength is 0 for no steps and never below", () => {
  expect([...lambdaOfLength(Float64Array.of(0, 1, 10, 100), { alpha: 0.2 })]).toEqual([0, 0, 0.5, 0.95]);
  expect([...lambdaOfLength(Float64Array.of(0, 1, 3), { share: 0.25 })]).toEqual([0, 1, 0.5]);
  expect(() => lambdaOfLength(Float64Array.of(1), { alpha: 1, share: 1 })).toThrow(/either alpha or share/);
});

test("a role's baseline follows its rewards, survives a file, and refuses what it could not recover from", () => {
  const first = updateRoleBaselines(NO_BASELINES, Float64Array.of(1, -1, 1), ["x", "y", "x"], { decay: 0.5 });
  expect([...first.advantages]).toEqual([1, -1, 0.5]);
  expect(first.state.baselines).toEqual({ x: 0.75, y: -0.5 });
  expect(NO_BASELINES.baselines).toEqual({});
  const kinds = { players: "roleBaselines" } as const;
  expect(parseControllers(serializeControllers(kinds, { players: first.state }), kinds)).toEqual({
    players: first.state,
  });
  expect(() => updateRoleBaselines(first.state, Float64Array.of(NaN), ["x"])).toThrow(/rewards\[0\] is NaN/);
});

test("proximalLogProbs lies between sampler and learner by the age of the token", () => {
  const given = [Float64Array.of(-1, -1, -1, -1), Float64Array.of(-3, -3, -3, -3)] as const;
  const versions = Int32Array.of(0, 3, 4, -1);
  expect([...proximalLogProbs(...given, { versions, currentVersion: 4 })]).toEqual([-1.5, -3, -3, -3]);
});

test("figures of engines: nothing from nothing, and from ids that are no experts", () => {
  expect(speculativeDecodingMetrics({ drafts: [], accepts: [], verifies: [] })).toEqual({});
  const where = { shape: [1, 2] as const, experts: 2, layers: 1, choices: 1 };
  expect(expertBalance(Int32Array.of(0, 1), where)).toMatchObject({ "rollout/moe/max_vio/layer_0": 1 });
  expect(expertBalance(Int32Array.of(2, 1), where)).toEqual({});
  expect(expertBalance(Int32Array.of(7, 1), { ...where, mask: Uint8Array.of(0, 1) })).toEqual({});
});

eachBackend((backend) => {
  test(`${backend}: normalizeLevels reads nothing under the mask, and a group of one has std 1`, () => {
    const values = rng(5).f64(12, -1, 1);
    const mask = Uint8Array.of(1, 1, 0, 1, 0, 1, 1, 1, 0, 0, 0, 1);
    const options = {
      shape: [4, 3] as const,
      mask,
      groups: [0, 0, 1, 2],
      center: "batch",
      scale: "group",
      backend,
    } as const;
    const got = normalizeLevels(values, options);
    const poisoned = values.map((x, i) => (mask[i] === 0 ? NaN : x));
    expect(normalizeLevels(poisoned, options)).toEqual(got);
    const kept = values.filter((_, i) => mask[i] !== 0);
    const mean = kept.reduce((sum, x) => sum + x, 0) / kept.length;
    expect(got[11]).toBeCloseTo((values[11]! - mean) / (1 + 1e-6), 12);
    expect(got[2]).toBe(0);
    const nothing = normalizeLevels(values, { ...options, mask: new Uint8Array(12) });
    expect(nothing).toEqual(values);
  });
});
