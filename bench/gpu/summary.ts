// results.json and summary.md of a run of the bundle: node summary.js RESULTS_DIR.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { judge } from "../goals";
import type { ResultLine } from "../record";
import { goalsTable } from "../report/goals-table";
import { errors, milliseconds, number, spread, table } from "../report/markdown";
import { GPU_GOALS } from "./goals";
import { type GpuResults, readGpuResults, type TorchCheck } from "./results";

function worst({ outputs = {} }: TorchCheck): string {
  return Object.entries(outputs)
    .map(
      ([name, { share, largest }]) =>
        `${name} ${largest === 0 ? "equal" : `${largest.toExponential(1)}, ${Math.max(1, Math.round(100 * share))} % of its bound`}`,
    )
    .join("; ");
}

function torchSection({ torch }: GpuResults): string[] {
  if (!torch) return [];
  if (torch.skipped !== undefined) return ["## Against torch", "", `Skipped: ${torch.skipped}`, ""];
  const checks = torch.checks ?? [];
  return [
    "## Against torch",
    "",
    `torch ${torch.torch ?? "?"}, ${torch.repeats ?? 0} repeats of each; no check: ${torch.missing?.join(", ") || "none"}.`,
    "",
    ...table(
      ["op", "case", "state", "same bits in every repeat", "differences"],
      checks.map((check) => [
        check.op,
        check.title,
        check.passed ? "within" : `**${check.error ?? "outside"}**`,
        check.repeatable === true ? "yes" : "**no**",
        worst(check),
      ]),
    ),
  ];
}

/** The goals as far as the lines measure them; times of the emulated backend are held against none. */
function goals(lines: readonly ResultLine[], backend: string): string[] {
  if (backend !== "cuda")
    return ["Taken on the emulated backend: these times say that the bench works, and nothing about a GPU.", ""];
  return goalsTable(GPU_GOALS.map((goal) => judge(goal, lines)).filter(({ verdict }) => verdict !== "not measured"));
}

function nodeSection({ node, backend }: GpuResults): string[] {
  if (node.length === 0) return [];
  return [
    "## From Node",
    "",
    ...goals(node, backend),
    ...table(
      [
        "what",
        "shape",
        "dtype",
        "data",
        "time, p20–p80",
        "GB/s",
        "share of a device copy, p20–p80",
        "against the CPU backend",
      ],
      node.map((line) => [
        line.op,
        `${line.shape.name} (${line.shape.sizes.join(" × ")})`,
        line.dtype,
        line.rowKind,
        spread(line.time, milliseconds),
        line.bytes ? number(line.bytes.least / line.time.median / 1e6) : "–",
        line.share ? spread(line.share, (x) => x.toFixed(2)) : "–",
        errors(line.error) || "–",
      ]),
    ),
  ];
}

function benchSection({ bench, backend }: GpuResults): string[] {
  if (bench.length === 0) return [];
  return [
    "## Beside torch",
    "",
    ...goals(bench, backend),
    ...table(
      ["what", "shape", "dtype", "who", "time, p20–p80", "share of a device copy", "against surprisal"],
      bench.map((line) => [
        line.op,
        `${line.shape.name} (${line.shape.sizes.join(" × ")})`,
        line.dtype,
        line.contender,
        spread(line.time, milliseconds),
        line.share ? spread(line.share, (x) => x.toFixed(2)) : "–",
        line.ratio ? `${number(line.ratio.median)}x the time` : "",
      ]),
    ),
  ];
}

export function toSummary(results: GpuResults): string {
  const { card, parts, suite } = results;
  return [
    `# surprisal on ${card.machine}`,
    "",
    `Commit \`${card.commit}\`, ${card.date.slice(0, 10)}. ${[...Object.entries(card.versions), ...Object.entries(card.driver)].map(([name, value]) => `${name} ${value}`).join("; ")}.`,
    "",
    ...table(
      ["part", "state", "seconds", "says"],
      parts.map(({ name, state, seconds, says }) => [
        name,
        state === "passed" || state === "skipped" ? state : `**${state}**`,
        String(seconds),
        says.slice(0, 200),
      ]),
    ),
    ...(suite ? [`Suite: ${suite.passed} passed, ${suite.failed} failed, ${suite.skipped} skipped.`, ""] : []),
    ...torchSection(results),
    ...nodeSection(results),
    ...benchSection(results),
  ].join("\n");
}

if (require.main === module) {
  const folder = process.argv[2];
  if (folder === undefined) {
    console.error("usage: summary RESULTS_DIR");
    process.exit(2);
  }
  const results = readGpuResults(folder);
  writeFileSync(join(folder, "results.json"), `${JSON.stringify(results, null, 1)}\n`);
  writeFileSync(join(folder, "summary.md"), toSummary(results));
  const failed = results.parts.filter(({ state }) => state === "failed" || state === "timeout");
  console.log(
    `${results.parts.length - failed.length} of ${results.parts.length} parts without a failure; ${join(folder, "summary.md")}`,
  );
}
