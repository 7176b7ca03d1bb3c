// An addon that was built from other contracts would read a call's fields as others: it is not used.
import { nativeAddon } from "../../lib/backend/addon";
import { CONTRACTS } from "../../lib/backend/contract/names";

jest.mock("node-gyp-build", () => ({ resolve: () => require.resolve("./other-addon.cjs") }));

// Tests that count what native code they reach name another addon to all.
const { SURPRISAL_NATIVE_PATH } = process.env;
beforeAll(() => void delete process.env.SURPRISAL_NATIVE_PATH);
afterAll(() => {
  if (SURPRISAL_NATIVE_PATH !== undefined) process.env.SURPRISAL_NATIVE_PATH = SURPRISAL_NATIVE_PATH;
});

test("an addon of other contracts is a reason that says what to do", () => {
  expect(nativeAddon()).toEqual({
    reason: `the native addon was built from another version of this package: its contracts are "those of another version", those of the package "${CONTRACTS}"; \`npx surprisal build\` builds it anew`,
  });
});
