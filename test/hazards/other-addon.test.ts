// An addon that was built from other contracts would read a call's fields as others: it is not used.
import { nativeAddon } from "../../lib/backend/addon";
import { CONTRACTS } from "../../lib/backend/contract/ops";

jest.mock("node-gyp-build", () => ({ resolve: () => require.resolve("./other-addon.cjs") }));

test("an addon of other contracts is a reason that says what to do", () => {
  expect(nativeAddon()).toEqual({
    reason: `the native addon was built from another version of this package: its contracts are "those of another version", those of the package "${CONTRACTS}"; \`npx surprisal build\` builds it anew`,
  });
});
