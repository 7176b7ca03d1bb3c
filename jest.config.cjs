"use strict";

const ENTRIES = ["collective", "experience", "io", "report", "reward"];

/**
 * Suites that import "surprisal" run what users run: dist/. Where that is not made of lib/ as it is, they fail and say so.
 *
 * @returns {import('jest').Config}
 */
function configFor(distIsBuilt) {
  const built = (file) => (distIsBuilt ? `<rootDir>/dist/${file}` : "<rootDir>/test/support/stale-dist.ts");
  return {
    testEnvironment: "<rootDir>/test/support/environment.cjs",
    setupFilesAfterEnv: ["<rootDir>/test/support/all-close.ts"],
    roots: ["<rootDir>/test"],
    testMatch: ["**/*.test.ts"],
    globals: { DIST_IS_STALE: !distIsBuilt },
    moduleNameMapper: {
      "^surprisal$": built("index.js"),
      [`^surprisal/(${ENTRIES.join("|")})$`]: built("$1/index.js"),
    },
    modulePathIgnorePatterns: ["<rootDir>/dist/", "<rootDir>/build", "<rootDir>/prebuilds/"],
    // swc strips the types and does not check them: `npm run typecheck` does.
    transform: {
      "^.+\\.ts$": [
        "@swc/jest",
        { jsc: { target: "es2022", parser: { syntax: "typescript" } }, module: { type: "commonjs" } },
      ],
      // ES modules that lib/ reaches by import(), which does not work inside of jest.
      "/node_modules/hyparquet(-writer)?/.+\\.js$": [
        "@swc/jest",
        { jsc: { target: "es2022" }, module: { type: "commonjs" } },
      ],
    },
    transformIgnorePatterns: ["/node_modules/(?!hyparquet(-writer)?/)"],
    testSequencer: "<rootDir>/test/support/longest-first.cjs",
    reporters: ["default", "<rootDir>/test/support/closing-line.cjs"],
    // Modules run in a vm context, whose globals take long to look up; these come as parameters of each module.
    sandboxInjectedGlobals: [
      "Math",
      "Number",
      "Array",
      "Object",
      "Float32Array",
      "Float64Array",
      "Int32Array",
      "Uint8Array",
      "BigInt",
      "Map",
      "Set",
      "Infinity",
      "Int8Array",
      "Uint16Array",
      "BigInt64Array",
      "String",
    ],
    testTimeout: 15 * 60_000, // of a test that hangs: a loaded machine fails none
    maxWorkers: 3, // two cores: many suites wait for processes of their own
  };
}

module.exports = async () => {
  const { isBuilt } = await import("./scripts/build/dist.mjs");
  return configFor(isBuilt());
};
module.exports.configFor = configFor;
