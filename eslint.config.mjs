// Types are checked by tsc. ESLint looks for what compiles and is still wrong or unclear.

import tseslint from "typescript-eslint";

// Rules that hold for every file, compiled or not.
const everywhere = {
  // `== null` is "null or undefined", and clearer than spelling out both.
  eqeqeq: ["error", "always", { null: "ignore" }],
  "no-var": "error",
  "prefer-const": "error",
  "no-console": "off",
  "no-warning-comments": ["error", { terms: ["todo", "fixme", "xxx", "hack"], location: "start" }],
  "max-lines": ["error", { max: 600 }],
};

const names = [
  "error",
  // C names (batch letters B, T, V and struct fields) appear where a contract is quoted.
  { selector: "function", format: ["camelCase"] },
  { selector: "variable", modifiers: ["const", "global"], format: ["camelCase", "UPPER_CASE", "PascalCase"] },
  { selector: "typeLike", format: ["PascalCase"] },
];

const typescript = {
  files: ["**/*.ts", "**/*.mts"],
  extends: [...tseslint.configs.strictTypeChecked],
  languageOptions: { parserOptions: { project: "./tsconfig.test.json", tsconfigRootDir: import.meta.dirname } },
  rules: {
    ...everywhere,
    "@typescript-eslint/naming-convention": names,
    "@typescript-eslint/consistent-type-imports": "error",
    "@typescript-eslint/consistent-type-exports": "error",
    "@typescript-eslint/no-import-type-side-effects": "error",
    "@typescript-eslint/explicit-module-boundary-types": "error",
    "@typescript-eslint/switch-exhaustiveness-check": ["error", { considerDefaultExhaustiveForUnions: true }],
    // A leading underscore says: it stands here for its place, not for its value.
    "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
    "@typescript-eslint/ban-ts-comment": ["error", { "ts-expect-error": "allow-with-description", "ts-ignore": true }],
    // Messages are made of numbers all over this package.
    "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true, allowBoolean: true }],
    // `while (true)` with a return inside is the clearest form of some loops.
    "@typescript-eslint/no-unnecessary-condition": ["error", { allowConstantLoopConditions: true }],
    // `return done()` from a function that returns nothing is a plain early end.
    "@typescript-eslint/no-confusing-void-expression": [
      "error",
      { ignoreArrowShorthand: true, ignoreVoidReturningFunctions: true },
    ],
    // An index checked by a loop bound is `array[i]!`: noUncheckedIndexedAccess cannot see the bound,
    // and a check in an inner loop would be code that never runs.
    "@typescript-eslint/no-non-null-assertion": "off",
  },
};

const shipped = {
  files: ["lib/**/*.ts"],
  ignores: ["lib/cli/**"],
  // A library does not print: see NODE_DEBUG=surprisal.
  rules: { "no-console": "error" },
};

// An absent option and one that is undefined are the same, so a plain property says it.
const conditionalSpread = {
  files: ["lib/**/*.ts"],
  rules: {
    "no-restricted-syntax": [
      "error",
      ...["SpreadElement > ConditionalExpression", "SpreadElement > LogicalExpression[operator='&&']"].map(
        (selector) => ({
          selector,
          message: "Write a plain property, `name: condition ? value : undefined`, or name the list first.",
        }),
      ),
    ],
  },
};

const loader = {
  files: ["lib/backend/addon.ts", "bench/accuracy/families.ts", "test/docs/table-pages.ts"],
  // What is found in a folder has no path that could be written here: the addon, the cases of each family.
  rules: { "@typescript-eslint/no-require-imports": "off" },
};

const generated = {
  files: ["lib/backend/contract/ops.ts", "lib/index.ts"],
  // As long as the headers and the exports that they are made of.
  rules: { "max-lines": "off" },
};

const tests = {
  files: ["test/**/*.ts", "examples/**/*.ts", "bench/**/*.ts"],
  rules: {
    "@typescript-eslint/explicit-module-boundary-types": "off",
    // Wrong arguments are the point of many tests.
    "@typescript-eslint/no-unsafe-argument": "off",
  },
};

const scripts = {
  files: ["**/*.mjs", "**/*.cjs"],
  rules: { ...everywhere, "no-undef": "off", "no-unused-vars": ["error", { argsIgnorePattern: "^_" }] },
};

// The page of the report: scripts of one scope. tsc -p lib/report/page knows which names there are.
const page = {
  files: ["lib/report/page/**/*.js"],
  languageOptions: { sourceType: "script" },
  rules: { ...everywhere, "no-undef": "off", "no-console": "error", "prefer-template": "error" },
};

const browserWarnings = {
  files: ["lib/backend/platform.browser.ts"],
  // A page has no other place for a warning.
  rules: { "no-console": "off" },
};

// The example page: a module of a browser.
const examplePage = {
  files: ["examples/browser/page.js"],
  rules: { ...everywhere, "no-undef": "off", "no-console": "error", "prefer-template": "error" },
};

export default tseslint.config(
  {
    ignores: [
      "**/node_modules/",
      "dist/",
      "dist.partial/",
      "dist.declarations/",
      "build*/",
      "prebuilds/",
      "coverage/",
      "**/*.d.ts",
    ],
  },
  { linterOptions: { reportUnusedDisableDirectives: "error", noInlineConfig: true } },
  typescript,
  shipped,
  conditionalSpread,
  loader,
  generated,
  tests,
  scripts,
  page,
  examplePage,
  browserWarnings,
);
