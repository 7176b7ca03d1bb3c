// The page that says which function of which source each public function stands for: docs/compatibility.md.
import * as surprisal from "surprisal";
import * as experience from "surprisal/experience";
import * as reward from "surprisal/reward";
import { presetNames, presetOf, type PresetFunction } from "../../lib/presets";
import type { GoldenFile } from "./golden";
import { LEFT_OUT } from "./left-out";
import { mappingKey, namesOf, type Mapping, type MappingTable } from "./mapping";
import { REPLACED, runBackend, type CaseResult, type FunctionReport, type Totals } from "./run";

/** Column → the families of golden files that show it. */
const COLUMNS: Readonly<Record<string, readonly string[]>> = {
  verl: ["verl-2026-08"],
  "verl 2026-01": ["verl", "logits"],
  TRL: ["trl"],
  OpenRLHF: ["openrlhf"],
  LightRFT: ["lightrft"],
  PufferLib: ["pufferlib"],
  SkyRL: ["skyrl"],
  AReaL: ["areal"],
  slime: ["slime"],
  ROLL: ["roll"],
  "prime-rl": ["prime-rl"],
  "open-instruct": ["open-instruct"],
  "NeMo-RL": ["nemo-rl"],
  papers: ["empg", "egpo", "gspo", "maxent"],
};

/** Column → the revision that was run, and what to know of it. */
const REVISIONS: Readonly<Record<string, string>> = {
  verl: "1dda039b, 2026-08-22",
  "verl 2026-01": "b178a3cd, 2026-01",
  TRL: "f2cd5771, 2026-07; the recorded optimisation steps are of 1.13.0. That has no PPO trainer any more: what is said of it is of the revision",
  OpenRLHF: "3c3be623, 2026-08",
  LightRFT: "49e62cb, 2026-03",
  PufferLib: "91460f7b, 2024-10",
  Liger: "ead96b61, 2026-08; read, its numbers are TRL's",
  SkyRL: "a9564572, 2026-08-21",
  AReaL: "cbff54d6, 2026-08-22",
  slime: "624b824a, 2026-08-21",
  ROLL: "8eb27cc2, 2026-08-19",
  "prime-rl": "559b4477, 2026-08-21",
  "open-instruct": "e6c3044a, 2026-08-20",
  "NeMo-RL": "7ea279ab, 2026-08-22",
  papers: "EGPO 4656be8, 2026-01, and f296a28, 2025-12; MaxEnt-GRPO 4f57dd45, 2026-04; EMPG and GSPO by their formulas",
};

/** What a source does that is taken for a fault, and what is done here. */
const FAULTS: readonly (readonly [source: string, upstream: string, here: string])[] = [
  ["ROLL", "token-mean, and its clip fractions, count what lies under the mask", "masked tokens do not count"],
  [
    "ROLL",
    "GiGPO groups states by their hash alone: equal states of two trajectory groups mix",
    "groups are trajectory group and state",
  ],
  [
    "ROLL",
    "rewards centred over the batch are divided by a std of the wrong group",
    "each row is divided by that of its own group",
  ],
  ["SkyRL", "batch normalisation takes its mean over padding, too", "over the kept tokens"],
  ["SkyRL", "the legacy reduction drops trailing rows", "every row counts"],
  [
    "slime",
    "ragged groups become one group; a group of one is NaN",
    "groups have labels or offsets; a group of one is 0",
  ],
  ["slime", "the clip fraction of OPSM counts masked tokens", "it does not"],
  ["verl", "IcePop with nothing kept divides by zero; figures of an empty batch are 0/0", "0"],
  [
    "verl",
    "the cap of DPPO's ratio is 20 in the function and 3 by the configuration",
    "3 with preset `verl`; `ratioCap` is any other",
  ],
  ["AReaL", "the value loss is 0/0 on an empty mask", "0"],
  [
    "NeMo-RL",
    "the std that a row that does not count is divided by has one row too few",
    "that of all rows of its group that count",
  ],
  [
    "SkyRL",
    "MaxRL with rewards of both signs divides by a mean near 0, or below it",
    'a group whose mean is not above 0 gets 0; `scale: "signedMean"` turns signs as there',
  ],
  [
    "slime",
    "weights by the geometric mean cannot be divided by their mean over the batch: the call fails",
    "they are divided by their mean over rows",
  ],
  [
    "open-instruct",
    "the configuration refuses upper bounds of 1 and less, which is where those of total variation lie",
    "any bounds",
  ],
];

/** How the code of a paper is called in its cell. */
const PAPERS: Readonly<Record<string, string>> = { empg: "EMPG", egpo: "EGPO", gspo: "GSPO", maxent: "MaxEnt-GRPO" };

interface Entry {
  readonly mapping: Mapping;
  readonly report: FunctionReport;
  /** Outputs that no case compares, because only the source has them. */
  readonly notCompared: readonly string[];
}

/** Counts are of backend js, which is there on every machine. */
export function compatibilityPage(files: readonly GoldenFile[], mappings: MappingTable): string {
  checkColumns(files);
  const { functions } = runBackend(files, mappings, "js");
  const entries = functions.flatMap((report): Entry[] => {
    const mapping = mappings.get(mappingKey(report));
    return mapping ? [{ mapping, report, notCompared: outputsNotCompared(files, mappingKey(report)) }] : [];
  });
  const answers = new Set(entries.flatMap(({ mapping }) => namesIn(mapping)));
  const mapped = publicFunctions().filter((name) => answers.has(name));
  const others = publicFunctions().filter((name) => !answers.has(name));
  return [
    ...introduction(files),
    ...table(
      ["source", "functions", "mapped", "cases passed", "cases skipped", "cases left out", "cases not mapped"],
      Object.entries(COLUMNS).map(([column, families]) =>
        totalsRow(
          column,
          functions.filter((f) => families.includes(f.family)),
        ),
      ),
    ),
    "## Revisions",
    "",
    ...table(["source", "revision that was run"], Object.entries(REVISIONS)),
    "## Faults of sources",
    "",
    "What looks like a fault there is not a default here.",
    "",
    ...table(["source", "there", "here"], FAULTS),
    "## Functions",
    "",
    ...table(
      ["surprisal", ...Object.keys(COLUMNS)],
      mapped.map((name) => [code(name), ...Object.values(COLUMNS).map((families) => cell(name, entries, families))]),
    ),
    `These public functions stand for no recorded function of a source: ${others.map(code).join(", ")}.`,
    "",
    ...presets(),
    ...notMapped(functions),
  ].join("\n");
}

function introduction(files: readonly GoldenFile[]): string[] {
  const cases = files.reduce((sum, file) => sum + file.cases.length, 0);
  return [
    "<!-- Generated by `npm run compatibility`. Edit the mappings in test/conformance/mappings instead. -->",
    "",
    "# Compatibility",
    "",
    "This page is generated by `npm run compatibility`, from the mappings that [conformance](conformance.md) runs and from what",
    `came of their ${cases} golden cases on backend js. A test fails when it is not up to date.`,
    "",
    "A cell names the function of the source, how many of its cases passed, the preset and options that reproduce it, and in",
    "italics what differs. A skipped case shows behaviour that surprisal replaces: the replacement follows the count. Where",
    "several public functions answer together, the cell of the first has the counts and the others refer to it. `logits` are",
    "the log-probs and entropies of verl. A dash: no function of this source is mapped to it.",
    "",
  ];
}

/** Without classes, which have a capital letter: they are no counterpart of a function. */
export function publicFunctions(): string[] {
  return Object.entries({ ...surprisal, ...reward, ...experience })
    .filter(([name, value]) => typeof value === "function" && /^[a-z]/.test(name))
    .map(([name]) => name)
    .sort();
}

/** As plain strings, to look for any name among them. */
const namesIn: (mapping: Mapping) => readonly string[] = namesOf;

function cell(name: string, entries: readonly Entry[], families: readonly string[]): string {
  const own = entries.filter(({ mapping }) => families.includes(mapping.family) && namesIn(mapping).includes(name));
  return own.map((entry) => cellEntry(name, entry)).join("<br>") || "–";
}

function cellEntry(name: string, entry: Entry): string {
  const { mapping, report } = entry;
  const [main] = namesOf(mapping);
  if (main !== name) return `${title(mapping)}, see ${code(main!)}`;
  const differences = [
    ...(mapping.differs === undefined ? [] : [mapping.differs]),
    ...(report.totals.maskedNotCompared > 0 ? ["values under the mask are not compared"] : []),
    ...(report.notCompared === undefined ? [] : [`not compared: ${report.notCompared}`]),
    ...entry.notCompared.map((output) => `output ${output} is not compared`),
  ];
  return [
    `${title(mapping)}: ${counts(report)}`,
    ...(mapping.options === undefined ? [] : [`; ${mapping.options}`]),
    ...(differences.length === 0 ? [] : [`; *${differences.join("; ")}*`]),
  ].join("");
}

function title({ family, function: name }: Mapping): string {
  const paper = PAPERS[family];
  if (paper !== undefined) return `${paper} ${code(name)}`;
  return code(family === "logits" ? `logits/${name}` : name);
}

function counts({ totals, cases }: FunctionReport): string {
  const reasons = new Set(cases.flatMap(skipReason));
  return [
    ...(totals.passed > 0 ? [`${totals.passed} passed`] : []),
    ...(totals.failed > 0 ? [`${totals.failed} failed`] : []),
    ...(totals.skipped > 0 ? [`${totals.skipped} skipped (*${[...reasons].join("; ")}*)`] : []),
  ].join(", ");
}

function skipReason(result: CaseResult): string[] {
  return result.status === "skipped" ? [result.reason.replace(REPLACED, "")] : [];
}

function outputsNotCompared(files: readonly GoldenFile[], key: string): string[] {
  const cases = files.filter((file) => mappingKey(file) === key).flatMap((file) => file.cases);
  const compared = (name: string) =>
    cases.some((golden) => name in golden.outputs && !golden.upstreamOnlyOutputs.includes(name));
  return [...new Set(cases.flatMap((golden) => golden.upstreamOnlyOutputs))].filter((name) => !compared(name));
}

function totalsRow(column: string, functions: readonly FunctionReport[]): string[] {
  const sum = (key: keyof Totals) => functions.reduce((total, { totals }) => total + totals[key], 0);
  const mapped = functions.filter(({ ours }) => ours.length > 0).length;
  return [
    column,
    ...[functions.length, mapped, sum("passed"), sum("skipped"), sum("leftOut"), sum("notImplemented")].map(String),
  ];
}

/** What differs from the defaults, by function: the data of the presets themselves. */
function presets(): string[] {
  const rows = publicFunctions().flatMap((name) =>
    presetNames(name as PresetFunction).map((preset) => [
      code(name),
      code(preset),
      settings(presetOf(name as PresetFunction, preset)) || "the defaults",
    ]),
  );
  return [
    "## What the presets set",
    "",
    "A preset gives a function these options instead of its defaults; an option of the call wins over both.",
    "",
    ...table(["function", "preset", "options"], rows),
  ];
}

function settings(options: object): string {
  return Object.entries(options)
    .map(([option, value]) => code(`${option}: ${JSON.stringify(value)}`))
    .join(", ");
}

function notMapped(functions: readonly FunctionReport[]): string[] {
  const rows = functions
    .filter(({ ours }) => ours.length === 0)
    .map((report) => [
      report.family,
      code(report.function),
      String(report.cases.length),
      LEFT_OUT.get(mappingKey(report)) ?? "not implemented",
    ]);
  return [
    "## Left out",
    "",
    "Recorded functions that no public function is mapped to.",
    "",
    ...table(["family", "function", "cases", "why"], rows),
  ];
}

/** A family that no column shows would be lost without a word. */
function checkColumns(files: readonly GoldenFile[]): void {
  const shown = new Set(Object.values(COLUMNS).flat());
  const lost = files.find(({ family }) => !shown.has(family));
  if (lost) throw new Error(`no column of the page shows family ${lost.family}`);
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]) => `| ${cells.map((text) => text.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line), ""];
}

function code(text: string): string {
  return `\`${text}\``;
}
