"use strict";

// The order in which a run takes the suites: the longest first, so that no core is without work at the end. Jest knows how long they
// take once it has run them in this folder; on a new machine it goes by the length of the files, which says nothing here: suites that
// compile programs, wait for processes or open a browser are short.

const { existsSync } = require("node:fs");
const { join } = require("node:path");
const Sequencer = require("@jest/test-sequencer").default;

const tests = join(__dirname, "..");
const LONGEST = [
  "native/kernels",
  "reward/python-assertions",
  "native/emulation",
  "collective/mpi/failures",
  "package/build",
  "integration/demo",
  "integration/demo-parallel",
  "integration/demo-backends",
  "docs/examples",
  "cli/shards/bits",
  "advantage/laws/every-estimator",
  "ops/kernel-paths",
  "reward/python-programs",
  "report/browser-texts",
  "report/browser",
  "package/browser-bundles",
  "reward/hybrid-example",
  "report/many-rollouts",
  "loss/laws/gradients",
  "loss/laws/every-loss",
  "io/fuzz",
  "io/faults",
  "fuzz/repeats",
].map((name) => join(tests, `${name}.test.ts`));

module.exports = class LongestFirst extends Sequencer {
  sort(suites) {
    const gone = LONGEST.filter((file) => !existsSync(file));
    if (gone.length > 0)
      throw new Error(`test/support/longest-first.cjs names suites that are not there: ${gone.join(", ")}`);
    const place = ({ path }) => (LONGEST.includes(path) ? LONGEST.indexOf(path) : LONGEST.length);
    const known = super.sort(suites);
    return known.some((suite) => suite.duration > 0) ? known : [...known].sort((a, b) => place(a) - place(b));
  }
};
