import { readFileSync } from "node:fs";
import * as path from "node:path";

import { advantageNames, computeAdvantages, gaeAdvantage, opoAdvantage, SurprisalError } from "../../lib";
import { eachBackend } from "../support/each-backend";

const tokenRewards = Float64Array.of(0, 1, 0, 0, 0, 0.5);
const layout = { shape: [3, 2], mask: Uint8Array.of(1, 1, 1, 0, 1, 1) } as const;

eachBackend((backend) => {
  test("a name answers as its function does", () => {
    const values = Float64Array.of(0.1, 0.2, 0.3, NaN, 0.5, 0.6);
    const batch = { tokenRewards, values, ...layout };
    const options = { gamma: 1, lambda: 0.95, backend } as const;
    expect(computeAdvantages("gae", batch, options)).toEqual(gaeAdvantage(batch, options));
    const outcome = { tokenRewards, groups: [1, 1, 1], ...layout };
    expect(computeAdvantages("opo", outcome, { backend })).toEqual(opoAdvantage(outcome, { backend }));
  });
});

test("options may be left out where all have defaults", () => {
  const { advantages, scores } = computeAdvantages("grpo", { tokenRewards, groups: "all", ...layout });
  expect(advantages).toHaveLength(6);
  expect([...scores]).toEqual([1, 0, 0.5]);
});

test("types: each name has its own batch, options and result", () => {
  const check = (): void => {
    // @ts-expect-error gae needs values
    computeAdvantages("gae", { tokenRewards, ...layout }, { gamma: 1, lambda: 1 });
    // @ts-expect-error gae needs gamma and lambda
    computeAdvantages("gae", { tokenRewards, values: tokenRewards, ...layout });
    // @ts-expect-error a typo in a name
    computeAdvantages("grop", { tokenRewards, ...layout });
    const { alpha } = computeAdvantages("gpg", { tokenRewards, ...layout });
    expect(alpha.toFixed()).toBe("1");
  };
  expect(check).toBeInstanceOf(Function); // compiled, not run
});

test("the page lists every name", () => {
  const page = readFileSync(path.join(__dirname, "..", "..", "docs", "advantage", "compute.md"), "utf8");
  expect(advantageNames.filter((name) => !page.includes(`\`"${name}"\``))).toEqual([]);
});

test.each(["grop", "toString", "__proto__"])("refuses the name %p and lists the known ones", (name) => {
  let error: unknown;
  try {
    computeAdvantages(name as never, {} as never, {} as never);
  } catch (caught) {
    error = caught;
  }
  expect(error).toBeInstanceOf(SurprisalError);
  expect((error as SurprisalError).code).toBe("ERR_SURPRISAL_OPTION");
  for (const known of advantageNames) expect((error as SurprisalError).message).toContain(`"${known}"`);
});
