"use strict";

/** @type {import('jest').Config} */
module.exports = {
  testEnvironment: "<rootDir>/test/support/environment.cjs",
  setupFilesAfterEnv: ["<rootDir>/test/support/all-close.ts"],
  roots: ["<rootDir>/test"],
  testMatch: ["**/*.test.ts"],
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
  reporters: ["default", "<rootDir>/test/support/closing-line.cjs"],
  testTimeout: 60_000,
  maxWorkers: 2,
};
