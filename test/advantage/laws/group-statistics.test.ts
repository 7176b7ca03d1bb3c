// What holds of statistics of groups at two levels, and of several rewards: the order of rows and the names of groups do not matter, units
// and offsets only where something divides or is subtracted, and groups do not see each other.
import { multiRewardAdvantage, normalizeLevels, updateRoleBaselines } from "../../../lib";
import { eachBackend } from "../../support/each-backend";
import { rng } from "../../support/rng";

const labels = [7, 7, 7, 2, 2, 9, 2, 7, 9, 9, 5];
const n = labels.length;
const random = rng(47);
const rewards = random.f64(n, -2, 2);
const second = random.f64(n, -2, 2);
const order = [10, 3, 0, 8, 1, 9, 2, 5, 7, 4, 6];
const turned = (values: ArrayLike<number>): number[] => order.map((b) => values[b]!);

const LEVELS = ["batch", "group", "none"] as const;
const cases = LEVELS.flatMap((center) =>
  LEVELS.flatMap((scale) => [false, true].map((leaveOneOut) => [center, scale, leaveOneOut] as const)),
);
const near = (got: ArrayLike<number>, want: ArrayLike<number>): void => {
  expect(Float64Array.from(got)).toBeAllClose(Array.from(want), { rtol: 1e-9, atol: 1e-11 });
};

eachBackend((backend) => {
  test.each(cases)("normalizeLevels, center %s, scale %s, leaveOneOut %p", (center, scale, leaveOneOut) => {
    const call = (values: Float64Array, groups: readonly number[] = labels) =>
      normalizeLevels(values, { groups: [...groups], center, scale, leaveOneOut, epsilon: 0, backend });
    const want = call(rewards);
    near(call(Float64Array.from(turned(rewards)), turned(labels)), turned(want));
    near(
      call(
        rewards,
        labels.map((label) => 100 - 3 * label),
      ),
      want,
    );
    if (center !== "none") near(call(rewards.map((x) => x + 5)), want);
    near(
      call(rewards.map((x) => 3 * x)),
      scale === "none"
        ? want.map((y) => 3 * y)
        : want.map((y, b) => (scale === "group" && labels[b] === 5 ? 3 * y : y)),
    );
    if (center !== "batch" && scale !== "batch") {
      const moved = rewards.map((x, b) => (labels[b] === 2 ? x * x - 1 : x));
      const others = (values: ArrayLike<number>) => Array.from(values).filter((_, b) => labels[b] !== 2);
      near(others(call(moved)), others(want));
    }
    if (center === "group" && scale === "none") {
      const sums = new Map<number, number>();
      want.forEach((y, b) => sums.set(labels[b]!, (sums.get(labels[b]!) ?? 0) + y));
      for (const sum of sums.values()) expect(sum).toBeCloseTo(0, 10);
    }
  });

  test.each(["rows", "tokens"] as const)("rewards normalised apart and then summed, over %s", (normalizeOver) => {
    const call = (columns: Float64Array[], groups: readonly number[] = labels, weights = [1, 0.5]) =>
      multiRewardAdvantage(
        { rewards: columns, groups: [...groups], shape: [n, 2] },
        { aggregation: "normalizeThenSum", normalizeOver, epsilon: 0, weights, backend },
      ).advantages.filter((_, i) => i % 2 === 0);
    const want = call([rewards, second]);
    near(
      call(
        [rewards, second].map((x) => Float64Array.from(turned(x))),
        turned(labels),
      ),
      turned(want),
    );
    near(call([rewards.map((x) => 40 * x + 3), second]), want);
    near(call([rewards, second.map((x, b) => x + labels[b]!)]), want);
    near(call([second, rewards], labels, [0.5, 1]), want);
    // Tokens are divided by sqrt(variance + 1e-8), which sees the unit of the sum.
    if (normalizeOver === "rows") near(call([rewards, second], labels, [2, 1]), want);
    const abstaining = second.map((x, b) => (labels[b] === 9 ? NaN : x));
    expect(Array.from(call([rewards, abstaining])).every(Number.isFinite)).toBe(true);
  });
});

test("baselines of roles do not see each other, and one of a constant reward comes to it", () => {
  const roles = labels.map((label) => (label === 7 ? "proposer" : "solver"));
  const start = { baselines: {} };
  const { advantages, state } = updateRoleBaselines(start, rewards, roles, { decay: 0.6 });
  for (const role of ["proposer", "solver"]) {
    const own = roles.flatMap((name, b) => (name === role ? [b] : []));
    const alone = updateRoleBaselines(
      start,
      Float64Array.from(own, (b) => rewards[b]!),
      own.map(() => role),
      { decay: 0.6 },
    );
    near(
      alone.advantages,
      own.map((b) => advantages[b]!),
    );
    expect(alone.state.baselines[role]).toBe(state.baselines[role]);
  }
  const half = updateRoleBaselines(start, rewards.slice(0, 5), roles.slice(0, 5), { decay: 0.6 });
  const rest = updateRoleBaselines(half.state, rewards.slice(5), roles.slice(5), { decay: 0.6 });
  expect([...half.advantages, ...rest.advantages]).toEqual([...advantages]);
  const steady = updateRoleBaselines(start, new Float64Array(60).fill(0.8), new Array<string>(60).fill("a"), {
    decay: 0.6,
  });
  expect(steady.advantages.at(-1)).toBeCloseTo(0, 10);
});
