// Which mutants are planted: the same for the same tree and seed, in each folder, whichever others are asked for.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { at } from "../build/paths.mjs";
import { areaOf, FOLDERS } from "./areas.mjs";
import { mutantsOf } from "./operators.mjs";

/** Not drawn from: what is generated, and what describes itself to people. */
const LEFT_OUT = /\/contract\/|exports\.ts$|index\.ts$|\/help|counts\.json|contracts\.cc$|\.inc$/;

/** Numbers in [0, 1) of a seed (mulberry32). */
function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** An endless list of a folder's mutants: a file is drawn by its length, in it an operator, of that a place. */
export function* drawMutants(seed, folder) {
  const next = random(seed + FOLDERS.indexOf(folder));
  const files = filesOf(folder);
  const seen = new Set();
  for (let misses = 0; misses < 1000;) {
    const mutant = drawOne(files, next);
    const key = mutant && `${mutant.path}:${mutant.at}:${mutant.to}`;
    if (!mutant || seen.has(key)) {
      ++misses;
      continue;
    }
    seen.add(key);
    yield mutant;
  }
}

function filesOf(folder) {
  return execFileSync("git", ["ls-files", "--", folder], { cwd: at("."), encoding: "utf8" })
    .split("\n")
    .filter((path) => /\.(ts|cpp|h|cc|cu|cuh)$/.test(path) && !/\.d\.ts$/.test(path) && !LEFT_OUT.test(path))
    .filter((path) => areaOf(path).folder === folder)
    .map((path) => ({ path, text: readFileSync(at(path), "utf8") }));
}

function drawOne(files, next) {
  const total = files.reduce((sum, { text }) => sum + text.length, 0);
  let place = next() * total;
  const file = files.find(({ text }) => (place -= text.length) < 0);
  const all = file ? mutantsOf(file.path, file.text) : [];
  const operators = [...new Set(all.map(({ operator }) => operator))].sort();
  const operator = operators[Math.floor(next() * operators.length)];
  const those = all.filter((mutant) => mutant.operator === operator);
  const mutant = those[Math.floor(next() * those.length)];
  if (!mutant) return undefined;
  const line = file.text.slice(0, mutant.at).split("\n").length;
  const text = file.text.split("\n")[line - 1];
  const column = mutant.at - file.text.lastIndexOf("\n", mutant.at - 1) - 1;
  return { ...mutant, path: file.path, line, text: text.trim(), column: column - text.search(/\S/) };
}
