import { groupsByLabel, groupsByOffsets, needGroups, oneGroup, type Groups } from "../../lib/core/groups";
import { rng } from "../support/rng";

/** The items of each group, as lists. */
function lists({ G, members, offsets }: Groups): number[][] {
  const count = offsets[G]!;
  const items = members ? Array.from(members) : Array.from({ length: count }, (_, i) => i);
  return Array.from({ length: G }, (_, g) => items.slice(offsets[g], offsets[g + 1]));
}

function code(call: () => unknown): string | undefined {
  try {
    call();
  } catch (error) {
    return (error as { code?: string }).code;
  }
  return undefined;
}

describe("labels", () => {
  test("groups are numbered by first appearance and keep their items' order", () => {
    const got = groupsByLabel("op", "groups", [7, 3, 7, -1, 3, 7], 6);
    expect(lists(got)).toEqual([[0, 2, 5], [1, 4], [3]]);
    expect(Array.from(got.ids)).toEqual([0, 1, 0, 2, 1, 0]);
  });

  test.each([
    ["Int32Array", Int32Array.of(4, 9, 4)],
    ["BigInt64Array", BigInt64Array.of(4n, -9n, 4n)],
    ["BigInt64Array past 2^53", BigInt64Array.of(2n ** 53n, 2n ** 53n + 1n, 2n ** 53n)],
    ["BigUint64Array", BigUint64Array.of(2n ** 63n, 0n, 2n ** 63n)],
    ["Uint8Array", Uint8Array.of(4, 9, 4)],
    ["bigints", [4n, 9n, 4n]],
    ["numbers", [0, 9, -0]],
    ["strings", ["a", "constructor", "a"]],
  ])("%s", (_, labels) => {
    expect(lists(groupsByLabel("op", "groups", labels, 3))).toEqual([[0, 2], [1]]);
  });

  test("a number and the string of its digits are different labels", () => {
    expect(groupsByLabel("op", "groups", [1, "1", 1n], 3).G).toBe(3);
  });

  test("consecutive groups need no member list", () => {
    const got = groupsByLabel("op", "groups", ["b", "b", "a"], 3);
    expect(got.members).toBeNull();
    expect(Array.from(got.offsets)).toEqual([0, 2, 3]);
  });

  test("every item is in exactly the group of its label", () => {
    const labels = rng(3).i32(1000, -20, 20);
    const got = groupsByLabel("op", "groups", labels, 1000);
    const seen = new Uint8Array(1000);
    for (const group of lists(got)) {
      expect(new Set(group.map((i) => labels[i])).size).toBe(1);
      expect(group).toEqual([...group].sort((a, b) => a - b));
      for (const i of group) ++seen[i]!;
    }
    expect(seen.every((times) => times === 1)).toBe(true);
    expect(got.G).toBe(new Set(labels).size);
  });

  test("no rows, no groups", () => {
    expect(groupsByLabel("op", "groups", [], 0)).toEqual({
      G: 0,
      members: null,
      offsets: Int32Array.of(0),
      ids: new Int32Array(0),
      labels: [],
      whole: false,
    });
  });

  test("what is wrong is named", () => {
    expect(code(() => groupsByLabel("op", "groups", [1, 2], 3))).toBe("ERR_SURPRISAL_SHAPE");
    expect(code(() => groupsByLabel("op", "groups", Float32Array.of(1), 1))).toBe("ERR_SURPRISAL_DTYPE");
    expect(code(() => groupsByLabel("op", "groups", "abc", 3))).toBe("ERR_SURPRISAL_DTYPE");
    for (const label of [0.5, NaN, Infinity, 2 ** 53, null, undefined, {}])
      expect(code(() => groupsByLabel("op", "groups", [label], 1))).toBe("ERR_SURPRISAL_VALUE");
    expect(() => groupsByLabel("grpoAdvantage", "groups", [0, NaN], 2)).toThrow(
      "grpoAdvantage: groups[1] is NaN, expected an integer",
    );
  });
});

describe("offsets", () => {
  test("groups are consecutive and may be empty", () => {
    const got = groupsByOffsets("op", "groupOffsets", Int32Array.of(0, 0, 2, 2, 3), 3);
    expect(lists(got)).toEqual([[], [0, 1], [], [2]]);
    expect(Array.from(got.ids)).toEqual([1, 1, 3]);
  });

  test("what is wrong is named", () => {
    expect(code(() => groupsByOffsets("op", "groupOffsets", [0, 1], 1))).toBe("ERR_SURPRISAL_DTYPE");
    expect(code(() => groupsByOffsets("op", "groupOffsets", new Int32Array(0), 0))).toBe("ERR_SURPRISAL_SHAPE");
    expect(code(() => groupsByOffsets("op", "groupOffsets", Int32Array.of(1, 3), 3))).toBe("ERR_SURPRISAL_RANGE");
    expect(code(() => groupsByOffsets("op", "groupOffsets", Int32Array.of(0, 2, 1, 3), 3))).toBe("ERR_SURPRISAL_RANGE");
    expect(code(() => groupsByOffsets("op", "groupOffsets", Int32Array.of(0, 2), 3))).toBe("ERR_SURPRISAL_RANGE");
    expect(code(() => groupsByOffsets("op", "groupOffsets", Int32Array.of(0, 4), 3))).toBe("ERR_SURPRISAL_RANGE");
  });
});

describe("options", () => {
  test("labels, offsets, or all", () => {
    expect(lists(needGroups("op", { groups: [1, 2, 1] }, 3))).toEqual([[0, 2], [1]]);
    expect(lists(needGroups("op", { groupOffsets: Int32Array.of(0, 1, 3) }, 3))).toEqual([[0], [1, 2]]);
    expect(lists(needGroups("op", { groups: "all" }, 3))).toEqual([[0, 1, 2]]);
    expect(code(() => needGroups("op", {}, 3))).toBe("ERR_SURPRISAL_OPTION");
    expect(oneGroup(0).G).toBe(0);
  });

  test("not both", () => {
    expect(code(() => needGroups("op", { groups: [0], groupOffsets: Int32Array.of(0, 1) }, 1))).toBe(
      "ERR_SURPRISAL_OPTION",
    );
  });
});
