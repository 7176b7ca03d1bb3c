import ClosingLineReporter from "../support/closing-line.cjs";

const results = (over: Readonly<Record<string, number>>): Record<string, number> => ({
  numPassedTests: 0,
  numFailedTests: 0,
  numPendingTests: 0,
  numTodoTests: 0,
  numRuntimeErrorTestSuites: 0,
  ...over,
});

test("the closing line counts tests", () => {
  const counts = ClosingLineReporter.countTests(results({ numPassedTests: 12, numFailedTests: 1, numPendingTests: 3 }));
  expect(ClosingLineReporter.closingLine(counts)).toBe("12 passed, 1 failed, 3 skipped");
});

test("a test file that does not load counts as a failure", () => {
  expect(ClosingLineReporter.countTests(results({ numRuntimeErrorTestSuites: 2 })).failed).toBe(2);
});

test("a reason to skip that several tests share is printed once", () => {
  const skipped = { status: "pending", fullName: "cuda: no driver", ancestorTitles: [] };
  const passed = { status: "passed", fullName: "js: adds", ancestorTitles: ["js"] };
  const block = ["the binding (skipped: no addon)"];
  const inBlock = ["a", "b", "c"].map((name) => ({
    status: "pending",
    fullName: `${block[0]!} ${name}`,
    ancestorTitles: block,
  }));
  const testResults = [{ testResults: [skipped, passed] }, { testResults: [skipped, ...inBlock] }];
  expect(ClosingLineReporter.skippedTitles({ testResults })).toEqual([
    "skipped: cuda: no driver (2 times)",
    "skipped: the binding (skipped: no addon) (3 times)",
  ]);
});
