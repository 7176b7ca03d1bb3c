// What one of the runs did, as a page to look at.
import { writeFile } from "node:fs/promises";
import type { BackendOption } from "../../lib";
import { prepareSteps, renderHtml } from "../../lib/report";
import { METHODS } from "./methods";
import type { RunResult } from "./run";
import { DELIMITERS } from "./task";
import { SETTINGS } from "./train";

/**
 * The recorded steps of the first run of EMPG, or of the first run where there is none. EMPG's advantages are made again from the
 * rewards, so that the page shows each span's weight with the advantage before and after it.
 */
export async function writeReport(file: string, results: readonly RunResult[], backend: BackendOption): Promise<void> {
  const shown = results.find(({ method }) => method === "empg") ?? results[0]!;
  const { method, seed, rewards, rollouts } = shown;
  const { start, end } = DELIMITERS;
  const steps =
    method === "empg"
      ? prepareSteps(
          rollouts.map(({ advantages: _, ...rollout }) => rollout),
          {
            spans: { start, end, scope: "mask" },
            spanLabels: ["step", "answer"],
            clipLow: SETTINGS.clip,
            clipHigh: SETTINGS.clip,
            ...backend,
          },
        )
      : prepareSteps(rollouts, { clipLow: SETTINGS.clip, clipHigh: SETTINGS.clip, ...backend });
  const facts = {
    task: "((a + b) c + d) mod 4 in two steps",
    method: METHODS[method].title,
    seed,
    steps: rewards.length,
  };
  await writeFile(file, renderHtml({ title: `Demo: ${METHODS[method].title}`, steps, facts }));
}
