"use strict";

// The suite as the bundle has it: compiled ahead, so nothing is transformed.

/** @type {import('jest').Config} */
module.exports = {
  testEnvironment: "<rootDir>/test/support/environment.cjs",
  setupFilesAfterEnv: ["<rootDir>/test/support/all-close.js"],
  roots: ["<rootDir>/test"],
  testMatch: ["**/*.test.js"],
  transform: {},
  moduleNameMapper: { "^surprisal$": "<rootDir>/lib/index.js", "^surprisal/([a-z]+)$": "<rootDir>/lib/$1/index.js" },
  haste: { enableSymlinks: false },
  cacheDirectory: "<rootDir>/.jest",
  reporters: ["default", "<rootDir>/test/support/closing-line.cjs"],
  testTimeout: 300_000,
  watchman: false,
};
