interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

interface FileResult {
  testResults: readonly { status: string; fullName: string; ancestorTitles: readonly string[] }[];
}

declare class ClosingLineReporter {
  static countTests(results: Readonly<Record<string, number>>): Counts;
  static skippedTitles(results: { testResults: readonly FileResult[] }): string[];
  static closingLine(counts: Counts): string;
}

export = ClosingLineReporter;
