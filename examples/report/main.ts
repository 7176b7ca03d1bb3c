// npx tsx examples/report/main.ts [FILE]: a report of a made-up training run, on the terminal and as one HTML file.
import { writeFileSync } from "node:fs";
import { prepareSteps, renderHtml, renderTerminal, summarize } from "../../lib/report";
import { ANSWER_END, ANSWER_START, madeUpRollouts, pieceId, STEP_END, STEP_START } from "./rollouts";

const SETTINGS = { seed: 20, steps: [0, 60, 120, 180], groups: 16, rolloutsPerGroup: 8 } as const;

/** The steps of the run, with group-relative advantages that EMPG has modulated over the delimited spans. */
export function madeUpSteps(seed: number = SETTINGS.seed) {
  const start = [[pieceId(STEP_START)], [pieceId(ANSWER_START)]];
  const end = [[pieceId(STEP_END)], [pieceId(ANSWER_END)]];
  return prepareSteps(madeUpRollouts({ ...SETTINGS, seed }), { spans: { start, end }, spanLabels: ["step", "answer"] });
}

export const FACTS = {
  data: "made up, seeded generator",
  seed: SETTINGS.seed,
  advantages: "relative to the group, EMPG over spans",
  clip: "0.2 / 0.2",
} as const;

function main(): void {
  const file = process.argv[2] ?? "report.html";
  const steps = madeUpSteps();
  writeFileSync(file, renderHtml({ title: "Word problems, EMPG", steps, facts: FACTS }));
  // A pipe has neither, whatever the types say.
  const { isTTY, columns } = process.stdout as { isTTY?: boolean; columns?: number };
  process.stdout.write(
    renderTerminal(summarize(steps), { colour: isTTY ?? false, width: Math.max(columns ?? 80, 40) }),
  );
  process.stdout.write(`\n${file}\n`);
}

if (require.main === module) main();
