// The instructions of each hot loop, as its ledger entry describes the loop:
//
//   // turn      32 of forward_kernel<BFloat16, false, false>: 64 loaded, 32 special; 2 bytes; at most 11; must 0.85
//
// A turn of that instance takes 32 elements of a thread and loads at least 64 bytes, with 32 special-function operations; the least
// way through the code that does so has at most 11 instructions an element. 2 bytes are what memory must move for an element; 0.85 is
// the share of the memory's speed that is the goal (bench/gpu/goals.ts), where there is one. Several loops are joined by " + "; "inner 7" says how
// often loops inside of it turn. native/cuda/counts.json keeps the counts, for machines without cuobjdump; and as `before` what an
// element took when the loop was first counted.

import { existsSync, readFileSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { at } from "../build/paths.mjs";
import { run } from "../build/run.mjs";
import { findTool } from "../build/tools.mjs";
import { boundsOf, CARDS } from "./bounds.mjs";
import { blocksOf, readSass } from "./sass.mjs";
import { sourceHashes } from "./sources.mjs";
import { COUNTS, turnOf } from "./turns.mjs";

export const COUNTS_FILE = "native/cuda/counts.json";
const SOURCES_FILE = "build-cuda/sources.json"; // what the objects were compiled from

export const findCuobjdump = () => process.env.SURPRISAL_CUOBJDUMP ?? findTool("cuobjdump");

export const keptCounts = () =>
  existsSync(at(COUNTS_FILE)) ? JSON.parse(readFileSync(at(COUNTS_FILE), "utf8")) : { kernels: {} };

/** {elements, instance, ways: [{needed, inner}], bytes, most, must}; throws where the text is no turn. */
export function readTurn(text) {
  const [, elements, instance, ways, bytes, most, must] =
    /^(\d+) of (.+?): (.+); ([\d.]+) bytes; at most ([\d.]+)(?:; must ([\d.]+))?$/.exec(text) ?? [];
  if (!most) throw new Error(`a turn is "N of KERNEL<...>: B loaded, ...; B bytes; at most M", not ${text}`);
  return {
    elements: Number(elements),
    instance,
    ways: ways.split(" + ").map(readWay),
    bytes: Number(bytes),
    most: Number(most),
    must: must && Number(must),
  };
}

function readWay(text) {
  const way = { needed: {}, inner: 1 };
  for (const part of text.split(", ")) {
    const [a, b] = part.split(" ");
    if (a === "inner") way.inner = Number(b);
    else if (COUNTS.includes(b)) way.needed[b] = Number(a);
    else throw new Error(`a turn has ${COUNTS.join(", ")} and inner, not ${part}`);
  }
  return way;
}

/** An element's share of a turn, by what is counted. */
export const perElement = ({ of, elements, turn }) => ({
  ...Object.fromEntries(COUNTS.map((name) => [name, (turn[name] ?? 0) / elements])),
  bytes: readTurn(of).bytes,
});

/** What is wrong with the kept counts, in words: another source, another turn, more instructions than allowed. */
export function faultsOfCounts(entries, kept, hashes = sourceHashes()) {
  const counted = Object.entries(entries).filter(([, { turn }]) => turn);
  const faults = counted.flatMap(([name, { turn, file }]) => {
    const count = kept.kernels[name];
    const where = `${COUNTS_FILE}: ${name}`;
    if (!count) return [`${where} is missing; npm run ledger with cuobjdump`];
    if (count.sources !== hashes[file])
      return [`${where} was counted in another ${file}; npm run ledger with cuobjdump`];
    if (count.of !== turn) return [`${where} was counted by another turn; npm run ledger with cuobjdump`];
    const { instructions } = perElement(count);
    const { most, must } = readTurn(turn);
    const tooMany = `${where} takes ${instructions.toFixed(1)} instructions an element, at most ${most} are allowed`;
    const isShort = must !== undefined && Object.values(count.predicted ?? {}).some((share) => share < must);
    return [
      ...(instructions > most ? [tooMany] : []),
      ...(isShort && !entries[name].short
        ? [`${where} is below ${must}, and no line "short" of its ledger says why`]
        : []),
    ];
  });
  const gone = Object.keys(kept.kernels).filter((name) => !entries[name]?.turn);
  return [...faults, ...gone.map((name) => `${COUNTS_FILE}: ${name} has no turn in the ledger; npm run ledger`)];
}

/** The counts of the last CUDA build. Throws where it is not of these sources, or a loop is not found. */
export async function countLoops(entries, cuobjdump) {
  const hashes = sourceHashes();
  const built = existsSync(at(SOURCES_FILE)) ? JSON.parse(readFileSync(at(SOURCES_FILE), "utf8")) : { files: {} };
  const objects = readdirSync(at("build-cuda/cmake"), { recursive: true }).filter((path) => path.endsWith(".cu.o"));
  const counted = Object.entries(entries).filter(([, { turn }]) => turn);
  const kept = keptCounts().kernels;
  const kernels = {};
  for (const file of [...new Set(counted.map(([, entry]) => entry.file))].sort()) {
    if (built.files[file] !== hashes[file]) throw new Error(`build-cuda is not of this ${file}; npm run build:cuda`);
    const object = objects.find((path) => basename(path) === `${basename(file)}.o`);
    const { stdout } = await run("cuobjdump", cuobjdump, [
      "-sass",
      "-arch",
      "sm_90a",
      at(join("build-cuda/cmake", object)),
    ]);
    const code = await named(readSass(stdout));
    for (const [name, { turn }] of counted.filter(([, entry]) => entry.file === file)) {
      const { elements, instance, ways } = readTurn(turn);
      const found = [...code].find(([key]) => key.startsWith(`${instance}(`));
      if (!found) throw new Error(`${file} has no ${instance}`);
      const blocks = blocksOf(found[1]);
      const turns = ways.map(({ needed, inner }) => turnOf(blocks, needed, inner));
      if (turns.includes(undefined)) throw new Error(`no way through ${instance} does what its turn says: ${turn}`);
      const total = Object.fromEntries(COUNTS.map((key) => [key, turns.reduce((sum, one) => sum + one[key], 0)]));
      const ahead = Math.max(...turns.map(({ loaded }) => loaded)); // bytes of a thread that a turn can have in flight
      const element = perElement({ of: turn, elements, turn: total });
      const shares = Object.entries(CARDS).map(([card, facts]) => [
        card,
        Number(boundsOf(element, facts).share.toFixed(3)),
      ]);
      const predicted = Object.fromEntries(shares); // of the memory's speed, at best
      const before = kept[name]?.before ?? Number(element.instructions.toFixed(1));
      kernels[name] = { sources: hashes[file], of: turn, before, elements, ahead, turn: total, predicted };
    }
  }
  return {
    nvcc: built.nvcc,
    kernels: Object.fromEntries(Object.entries(kernels).sort(([a], [b]) => (a < b ? -1 : 1))),
  };
}

/** By the names that people read: "void srp::cuda::(anonymous namespace)::f<srp::Half>(int)" is "f<Half>(int)". */
async function named(functions) {
  const { stdout } = await run("c++filt", "c++filt", [...functions.keys()]);
  const names = stdout.trimEnd().split("\n");
  const short = (name) => name.replace(/\(anonymous namespace\)::|srp::(cuda::)?/g, "").replace(/^void /, "");
  return new Map([...functions.values()].map((code, i) => [short(names[i]), code]));
}
