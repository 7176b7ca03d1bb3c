// npm run test:mutants: plants mistakes, one at a time, and says which of them the tests of their area do not notice.
//
//   --area NAME     only folders whose path has this in it
//   --count N       so many drawn mutants that build, beside those of test/mutants/named.json; 120 unless told
//   --seed N        of the drawing; unless told that of test/mutants/drawn.json
//   --resume        goes on where the last run of this commit and seed stopped
//   --json          prints the results as JSON at the end
//
// A mutant that does not compile is not counted: another is drawn. One that is the same program (test/mutants/equivalent.json, with
// the proof) is not planted. Results are kept in build-mutants/results.json after each mutant. Ends with 1 where more than one in
// twenty survived.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { at } from "./build/paths.mjs";
import { areaOf } from "./mutants/areas.mjs";
import { drawMutants } from "./mutants/draw.mjs";
import { jest, openTree, readIn, rebuild, writeIn } from "./mutants/tree.mjs";

const { values: options } = parseArgs({
  options: {
    area: { type: "string", default: "" },
    count: { type: "string" },
    seed: { type: "string" },
    resume: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
});
const json = (path) => JSON.parse(readFileSync(at(path), "utf8"));
const count = Number(options.count ?? 120);
const seed = Number(options.seed ?? json("test/mutants/drawn.json").seed);
const LIMIT = 10 * 60_000; // ms for a step: what takes longer hangs
const resultsFile = at("build-mutants/results.json");

const commit = await openTree();
const kept = options.resume && existsSync(resultsFile) ? JSON.parse(readFileSync(resultsFile, "utf8")) : {};
const results = kept.commit === commit && kept.seed === seed ? kept : { commit, seed, mutants: {} };
const equivalent = new Set(json("test/mutants/equivalent.json").map(keyOf));

const trusted = new Set();
const stale = [];
const named = json("test/mutants/named.json").filter(({ path }) => path.includes(options.area));
for (const mutant of named) await judge(mutant, "named");
let drawn = 0;
for (const mutant of drawMutants(seed, options.area)) {
  if (drawn >= count) break;
  const { verdict } = await judge(mutant, "drawn");
  if (verdict === "killed" || verdict === "survived") ++drawn;
}
report();

async function judge(mutant, origin) {
  const key = keyOf(mutant);
  if (results.mutants[key]) return results.mutants[key];
  const started = performance.now();
  const verdict = equivalent.has(key) ? "equivalent" : await plant(mutant);
  const { path, line, operator, from, to, text, column, tests } = mutant;
  const result = { origin, verdict, path, line, operator, from, to, text, column, tests };
  results.mutants[key] = result;
  writeFileSync(resultsFile, JSON.stringify(results, null, 1));
  const seconds = ((performance.now() - started) / 1000).toFixed(0);
  console.error(
    `${verdict.padEnd(10)} ${path}${line ? `:${line}` : ""}  ${from} → ${to || "(nothing)"}  (${seconds} s)`,
  );
  return result;
}

/** The same after an edit elsewhere in the file: by the text of the line, and the column in it. */
function keyOf({ path, text, column, from, to }) {
  return [path, text ?? "", column ?? "", from, to].join(" | ");
}

/** "killed", "survived", or "no program" where it does not compile. */
async function plant(mutant) {
  const { path, from, to } = mutant;
  const before = readIn(path);
  const offset = mutant.at ?? before.indexOf(from);
  if (offset < 0 || !before.startsWith(from, offset)) throw new Error(`${path} does not hold: ${from}`);
  const area = areaOf(path);
  const steps = mutant.tests ?? area.steps(path);
  for (const step of steps) await trust(step);
  writeIn(path, before.slice(0, offset) + to + before.slice(offset + from.length));
  try {
    const { status, late } = await rebuild(area.rebuild);
    if (status !== 0) return late ? "killed" : "no program";
    for (const step of steps) if ((await jest(step, LIMIT)).status !== 0) return "killed";
    return "survived";
  } finally {
    writeIn(path, before);
    stale.push(...area.rebuild);
  }
}

/** Tests that fail without a mistake notice none: each passes once on the tree as it is. */
async function trust(step) {
  const key = JSON.stringify(step);
  if (trusted.has(key)) return;
  if (stale.length > 0) await rebuild([...new Set(stale.splice(0))]);
  const { status, output } = await jest(step, LIMIT);
  if (status !== 0) throw new Error(`these tests fail without a mutant: ${step.args.join(" ")}\n${output}`);
  trusted.add(key);
}

function report() {
  const judged = Object.values(results.mutants).filter(({ verdict }) => verdict !== "no program");
  if (options.json) {
    console.log(JSON.stringify({ ...results, mutants: judged }, null, 2));
    return;
  }
  const folders = [...new Set(judged.map(({ path }) => areaOf(path).folder))].sort();
  const number = (list, verdict) => list.filter((one) => one.verdict === verdict).length;
  const row = (name, list) =>
    `| ${name} | ${list.length} | ${number(list, "killed")} | ${number(list, "survived")} | ${number(list, "equivalent")} |`;
  console.log(`Planted at ${commit.slice(0, 12)} with seed ${seed}:\n`);
  console.log("| area | mutants | killed | survived | the same program |\n| --- | --- | --- | --- | --- |");
  for (const folder of folders)
    console.log(
      row(
        `\`${folder}\``,
        judged.filter(({ path }) => areaOf(path).folder === folder),
      ),
    );
  console.log(row("all", judged));
  const survivors = judged.filter(({ verdict }) => verdict === "survived");
  for (const { path, line, text, from, to } of survivors)
    console.log(`\nsurvived: ${path}${line ? `:${line}` : ""}\n  ${text ?? from}\n  ${from} → ${to || "(nothing)"}`);
  if (survivors.length > 0.05 * (judged.length - number(judged, "equivalent"))) process.exitCode = 1;
}
