"use strict";

// Ends a jest run with what was skipped, each reason once, and one plain line of counts. Jest adds its
// own summary after every other reporter, so this waits for the end of the process.

const { writeFileSync } = require("node:fs");

class ClosingLineReporter {
  constructor(globalConfig) {
    this.globalConfig = globalConfig;
  }

  onRunComplete(_contexts, results) {
    const counts = countTests(results);
    // .ci/run adds these counts to those of its other checks.
    const file = process.env.SURPRISAL_TEST_COUNTS;
    if (file) writeFileSync(file, `${JSON.stringify(counts)}\n`);
    // With --json, standard output belongs to jest's report.
    if (this.globalConfig.json) return;
    const lines = [...skippedTitles(results), closingLine(counts)];
    process.once("exit", () => process.stdout.write(`${lines.join("\n")}\n`));
  }
}

// A file that does not even load has no tests to count, and must not look like success.
function countTests(results) {
  return {
    passed: results.numPassedTests,
    failed: results.numFailedTests + results.numRuntimeErrorTestSuites,
    skipped: results.numPendingTests + results.numTodoTests,
  };
}

/**
 * The titles of skipped tests, which say why; one that several files share is printed once. Where a whole
 * block is skipped, its own title says it for the tests in it.
 */
function skippedTitles(results) {
  const times = new Map();
  for (const file of results.testResults) {
    for (const { status, fullName, ancestorTitles } of file.testResults) {
      if (status !== "pending" && status !== "todo") continue;
      const title = ancestorTitles.find((block) => block.includes("skipped")) ?? fullName;
      times.set(title, (times.get(title) ?? 0) + 1);
    }
  }
  return [...times].map(([title, count]) => `skipped: ${title}${count > 1 ? ` (${count} times)` : ""}`);
}

function closingLine({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`;
}

module.exports = ClosingLineReporter;
module.exports.countTests = countTests;
module.exports.skippedTitles = skippedTitles;
module.exports.closingLine = closingLine;
