// Runs a suite once per backend. A backend that is not here leaves one skipped test that says why,
// so that a report never hides what was not tried.
//
// wasm is the code of cpu: `npm test` holds it to js by random calls of every op (test/fuzz) and leaves the suites to runs of their
// own (.ci/run, npm run test:long), which set SURPRISAL_TEST_WASM.
import { backendInfo } from "../../lib";

export type BackendStatus = ReturnType<typeof backendInfo>["backends"][number];
export type BackendName = BackendStatus["name"];

const WASM = Boolean(process.env["SURPRISAL_TEST_WASM"]);

/** The calls of jest that are needed, so that the registration itself can be tested. */
export interface Registry {
  describe(title: string, suite: () => void): void;
  skip(title: string): void;
}

const jestRegistry: Registry = {
  describe: (title, suite) => describe(title, suite),
  skip: (title) => test.skip(title, () => undefined),
};

export function registerBackends(
  backends: readonly Pick<BackendStatus, "name" | "available" | "reason">[],
  suite: (backend: BackendName) => void,
  registry: Registry = jestRegistry,
): void {
  for (const { name, available, reason } of backends) {
    if (available) registry.describe(`backend ${name}`, () => suite(name));
    else registry.skip(`backend ${name} is not available: ${reason ?? "no reason given"}`);
  }
}

/**
 * `suite` gets the backend's name; its tests pass `{ backend }` in each call. `only` names the backends that a suite is
 * about, where it is not about all.
 */
export function eachBackend(suite: (backend: BackendName) => void, only?: readonly BackendName[]): void {
  registerBackends(
    backendInfo().backends.filter(({ name }) => (name !== "wasm" || WASM) && (!only || only.includes(name))),
    suite,
  );
}
