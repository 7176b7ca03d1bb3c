// The ledger: what each CUDA kernel must move, as the comment above it says. Such a comment ends with
//
//   // ledger    the ops that launch it
//   // bytes     the least that a launch reads and writes, as bytes.mjs understands it
//   // limit     memory, latency or issue
//   // notes     more, in words
//
// and says of each of its hot loops
//
//   // turn      what is counted (turn-text.mjs)
//   // sm_89     the turn of the instance that sm_89 runs instead
//   // short     why the loop stays below its goal
//   // measured  what a card said of it, where that is less than is predicted
//
// or in place of turns, omitted: why not. And where they are not what scripts/ledger/page.mjs supposes: threads (of a block), shared
// (bytes that a launch adds), launches, values (of names in the formula: `inputs 1, S 4096`); variants: of which others the kernel is
// one, and why all of them stay. Lines without one of these words go on with the line above.

import { readFileSync } from "node:fs";
import { filesBelow, shown } from "../build/paths.mjs";

const OF_A_TURN = ["turn", "sm_89", "short", "measured"];
const OTHERS = ["omitted", "threads", "shared", "launches", "values", "variants"];
const NEEDED = ["ledger", "bytes", "limit", "notes"];
const WORDS = [...NEEDED, ...OF_A_TURN, ...OTHERS];
const LIMITS = ["memory", "latency", "issue"];

/** By name of the kernel: {file, op, minimumBytes, limit, notes, turns: [{turn, sm_89, short, measured}], omitted, threads, shared, launches, values, variants}; and what is wrong, in words. */
export function readLedger() {
  const read = filesBelow("native/cuda", [".cu", ".cuh"]).map((file) =>
    entriesOf(shown(file), readFileSync(file, "utf8")),
  );
  return {
    entries: Object.assign({}, ...read.map(({ entries }) => entries)),
    faults: read.flatMap(({ faults }) => faults),
  };
}

/** @public Tests import it in a program of their own. */
export function entriesOf(file, text) {
  const lines = text.split("\n");
  const entries = {};
  const faults = [];
  lines.forEach((line, i) => {
    if (!/^(?!#).*__global__/.test(line)) return;
    const name = nameOf(lines.slice(i, i + 4).join(" "));
    const { said, turns } = wordsAbove(lines, i);
    const missing = NEEDED.filter((word) => !said[word]);
    if (missing.length > 0) faults.push(`${file}:${i + 1}: the comment above ${name} has no ${missing.join(", no ")}`);
    if (said.limit && !LIMITS.includes(said.limit))
      faults.push(`${file}:${i + 1}: the limit of ${name} is ${said.limit}, expected ${LIMITS.join(", ")}`);
    if (said.limit && said.limit !== "latency" && turns.length > 0 === (said.omitted !== undefined))
      faults.push(`${file}:${i + 1}: the comment above ${name} has either turns or a line omitted, which says why not`);
    entries[name] = {
      file,
      op: said.ledger,
      minimumBytes: said.bytes,
      limit: said.limit,
      notes: said.notes,
      turns,
      omitted: said.omitted,
      variants: said.variants,
      threads: number(said.threads),
      shared: number(said.shared),
      launches: number(said.launches),
      values: valuesOf(said.values),
    };
  });
  return { entries, faults };
}

/** "inputs 1, S 4096" as an object. */
function valuesOf(text) {
  const pairs = text?.split(", ").map((pair) => pair.split(" ")) ?? [];
  return Object.fromEntries(pairs.map(([name, value]) => [name, Number(value)]));
}

const number = (text) => (text === undefined ? undefined : Number(text));

/** The name that stands before the first parenthesis which is not one of __launch_bounds__. */
const nameOf = (declaration) => /(\w+)\(/.exec(declaration.replace(/__launch_bounds__\([^)]*\)/, ""))?.[1];

/** Of the comment above a declaration, from its line `// ledger` on: the words and what stands behind them, and the turns likewise. */
function wordsAbove(lines, declaration) {
  let end = declaration;
  while (end > 0 && lines[end - 1] !== "" && !lines[end - 1].startsWith("//")) end -= 1; // template <...>
  let begin = end;
  while (begin > 0 && lines[begin - 1].startsWith("//")) begin -= 1;
  const said = {};
  const turns = [];
  let place; // where the last word is
  let last;
  for (const line of lines.slice(begin, end)) {
    const [, word, rest] = /^\/\/ (\w+) {2,}(.*)$/.exec(line) ?? [];
    if (word === "ledger" || (last && WORDS.includes(word))) {
      if (word === "turn") turns.push({});
      place = OF_A_TURN.includes(word) ? (turns.at(-1) ?? {}) : said;
      place[(last = word)] = rest;
    } else if (last) {
      place[last] += ` ${line.replace(/^\/\/\s*/, "")}`;
    }
  }
  return { said, turns };
}
