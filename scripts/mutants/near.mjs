// The tests nearest to a TypeScript file: most mistakes are noticed by them, within seconds, and before dist/ is built anew.

import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { at, filesBelow, shown } from "../build/paths.mjs";

const MOST = 10;

/**
 * Test files whose paths begin with one of `first` or `others`, in two lists: those that are named as the file is, import it, or
 * name one of its exports or itself; and those that lie in a folder of the same path. Where there is none, those of `first`.
 */
export function nearestTests(path, first, others) {
  const name = basename(path, ".ts");
  const exports = /^export (?:async )?(?:function\*?|const|class) (\w+)/gm;
  const words = [...readFileSync(at(path), "utf8").matchAll(exports)].map(([, word]) => `\\b${word}\\b`);
  const speaks = new RegExp([`"${name}"`, ...words].join("|"));
  const folder = dirname(path).replace(/^lib/, "test");
  const imported = `${path.replace(/\.ts$/, "")}"`;
  const points = (file) => {
    const text = readFileSync(at(file), "utf8");
    if (basename(file) === `${name}.test.ts` || first.includes(file.replace(/\.test\.ts$/, ""))) return 5;
    if (text.includes(imported)) return 4;
    if (speaks.test(text)) return 3;
    if (file.startsWith(`${folder}/`)) return 2;
    return first.some((place) => file.startsWith(place)) ? 1 : 0;
  };
  const found = testsAt([...first, ...others])
    .map((file) => ({ file, points: points(file) }))
    .sort((a, b) => b.points - a.points);
  const least = Math.min(2, found[0]?.points);
  const near = found.filter((one) => one.points >= least && one.points > 0).slice(0, MOST);
  return [(points) => points > 2, (points) => points <= 2]
    .map((belongs) => near.filter(({ points }) => belongs(points)).map(({ file }) => file))
    .filter((files) => files.length > 0);
}

/** Test files whose paths begin with one of these. */
export const testsAt = (places) =>
  filesBelow("test", [".test.ts"])
    .map(shown)
    .filter((file) => places.some((place) => file.startsWith(place)));

const known = new Map();

/** Whether a test runs files of dist/ by their paths, itself or through what it imports from test/. */
export function runsDist(file) {
  const before = known.get(file);
  if (before !== undefined) return before;
  known.set(file, false); // files that import each other
  const text = readFileSync(file, "utf8");
  const imported = [...text.matchAll(/from "(\.[^"]+)"/g)]
    .map(([, relative]) => `${join(dirname(file), relative)}.ts`)
    .filter((one) => one.startsWith(at("test")) && existsSync(one));
  const found = /\bdistFile\b/.test(text) || imported.some(runsDist);
  known.set(file, found);
  return found;
}
