// npm run test:mutants: plants mistakes, one at a time, and says which of them the tests of their area do not notice.
//
//   --area NAME     only folders whose path has this in it
//   --count N       so many drawn mutants in all folders together, beside those of test/mutants/named.json; 120 unless told
//   --seed N        of the drawing; unless told that of test/mutants/drawn.json
//   --resume        goes on where the last run of this seed stopped. At a later commit what survived is tried again, and what was noticed is not
//   --json          prints the results as JSON at the end
//
// A mutant that does not compile is not counted: another is drawn. One that is the same program (test/mutants/equivalent.json, with
// the proof) is not planted. One whose tests fail without it is not judged, and named. Results are kept in test/mutants/results.json
// after each mutant, which is committed. Ends with 1 where more than one in twenty survived, or one was not judged.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { at } from "./build/paths.mjs";
import { areaOf, FOLDERS } from "./mutants/areas.mjs";
import { drawMutants } from "./mutants/draw.mjs";
import { compiles, jest, openTree, readIn, rebuild, writeIn } from "./mutants/tree.mjs";

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
const LIMIT = 20 * 60_000; // ms for the tests of a step without a mistake
const resultsFile = at("test/mutants/results.json");

const commit = await openTree();
const kept = options.resume && existsSync(resultsFile) ? JSON.parse(readFileSync(resultsFile, "utf8")) : {};
const results = { commit, seed, mutants: kept.seed === seed ? kept.mutants : {} };
/** What the nearest tests of this commit do not notice: after an interruption that need not be seen again. */
const putOff = new Set(kept.seed === seed && kept.commit === commit ? kept.putOff : []);
const equivalent = new Set(json("test/mutants/equivalent.json").map(keyOf));

/** Tests fail without a mistake. */
class Untrusted extends Error {}

const trusted = new Map();
const stale = [];
// First what the nearest tests of TypeScript notice, in seconds each; then what needs a build. Folders take turns, so that a run
// that is ended early has tried all of them.
const waiting = [];
const named = json("test/mutants/named.json").filter(({ path }) => path.includes(options.area));
for (const mutant of named) await judgeNear(mutant, "named");
const lists = FOLDERS.filter((folder) => folder.includes(options.area)).map((folder) => ({
  mutants: drawMutants(seed, folder),
  most: Math.floor(count / FOLDERS.length) + (FOLDERS.indexOf(folder) < count % FOLDERS.length ? 1 : 0),
}));
for (let round = 0; lists.some(({ most }) => round < most); ++round)
  for (const { mutants, most } of lists) if (round < most) await drawNear(mutants);
for (const [mutant, origin, mutants] of waiting) {
  const verdict = await judge(mutant, origin, plant);
  if (verdict === "no program" || verdict === "equivalent") await drawWhole(mutants);
}
report();

/** The next that is a program: judged where it is of TypeScript and its nearest tests notice it, else put off. */
async function drawNear(mutants) {
  for (let next = mutants.next(); !next.done; next = mutants.next()) {
    const verdict = await judgeNear(next.value, "drawn", mutants);
    if (verdict !== "no program" && verdict !== "equivalent") return;
  }
}

async function drawWhole(mutants) {
  for (let next = mutants?.next(); next && !next.done; next = mutants.next()) {
    const verdict = await judge(next.value, "drawn", plant);
    if (verdict !== "no program" && verdict !== "equivalent") return;
  }
}

async function judgeNear(mutant, origin, mutants) {
  const verdict = await judge(mutant, origin, plantNear);
  if (verdict === undefined) waiting.push([mutant, origin, mutants]);
  return verdict;
}

/** What `how` says of a mutant, or what was said before. */
async function judge(mutant, origin, how) {
  const key = keyOf(mutant);
  const before = results.mutants[key];
  if (before && (before.verdict !== "survived" || before.commit === commit)) return before.verdict;
  if (how === plantNear && putOff.has(key)) return undefined;
  const started = performance.now();
  const verdict = equivalent.has(key) ? "equivalent" : await judgeBy(how, mutant);
  const { path, line, operator, from, to, text, column, tests } = mutant;
  const seconds = ((performance.now() - started) / 1000).toFixed(0);
  const place = `${path}${line ? `:${line}` : ""}  ${from} → ${to || "(nothing)"}  (${seconds} s)`;
  console.error(`${(verdict ?? "put off").padEnd(10)} ${place}`);
  if (verdict === "not judged") return verdict;
  if (verdict === undefined) putOff.add(key);
  else {
    putOff.delete(key);
    results.mutants[key] = { commit, origin, verdict, path, line, operator, from, to, text, column, tests };
  }
  results.putOff = [...putOff];
  writeFileSync(resultsFile, `${JSON.stringify(results, null, 2)}\n`);
  return verdict;
}

async function judgeBy(how, mutant) {
  try {
    return await how(mutant);
  } catch (error) {
    if (!(error instanceof Untrusted)) throw error;
    console.error(error.message);
    process.exitCode = 1;
    return "not judged";
  }
}

/** The same after an edit elsewhere in the file: by the text of the line, and the column in it. */
function keyOf({ path, text, column, from, to }) {
  return [path, text ?? "", column ?? "", from, to].join(" | ");
}

/** "killed" by the nearest tests, "no program" where it does not compile, or undefined. */
async function plantNear(mutant) {
  const near = mutant.tests ? undefined : areaOf(mutant.path).near?.(mutant.path);
  if (!near) return undefined;
  if (!(await withMistake(mutant, compiles))) return "no program";
  for (const step of near) {
    await trust(step);
    if (await withMistake(mutant, () => notices(step))) return "killed";
  }
  return undefined;
}

/** "killed", "survived", or "no program". */
async function plant(mutant) {
  const area = areaOf(mutant.path);
  const before = mutant.tests ? [] : area.unbuilt(mutant.path);
  for (const step of before) await trust(step);
  for (const step of before) if (await withMistake(mutant, () => notices(step))) return "killed";
  const steps = mutant.tests ?? area.steps(mutant.path);
  if (steps.length === 0) return "survived";
  for (const step of steps) await trust(step);
  return withMistake(mutant, async () => {
    stale.push(...area.rebuild);
    const { status, late } = await rebuild(area.rebuild);
    if (status !== 0) return late ? "killed" : "no program";
    for (const step of steps) if (await notices(step)) return "killed";
    return "survived";
  });
}

async function withMistake({ path, from, to, at: place }, judged) {
  const before = readIn(path);
  const offset = place ?? before.indexOf(from);
  if (offset < 0 || !before.startsWith(from, offset)) throw new Error(`${path} does not hold: ${from}`);
  writeIn(path, before.slice(0, offset) + to + before.slice(offset + from.length));
  try {
    return await judged();
  } finally {
    writeIn(path, before);
  }
}

/** Whether a test fails, or takes so much longer than without a mistake that it hangs. */
async function notices(step) {
  const limit = Math.max(180_000, 10 * trusted.get(JSON.stringify(step)));
  return (await jest(step, limit)).status !== 0;
}

/** Tests that fail without a mistake notice none: each passes once on the tree as it is. */
async function trust(step) {
  const key = JSON.stringify(step);
  if (trusted.has(key)) return;
  if (stale.length > 0) await rebuild([...new Set(stale.splice(0))]);
  const started = performance.now();
  const { status, output } = await jest(step, LIMIT);
  if (status !== 0) throw new Untrusted(`these tests fail without a mutant: ${step.args.join(" ")}\n${output}`);
  trusted.set(key, performance.now() - started);
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
