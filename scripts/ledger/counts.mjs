// The instructions of each hot loop, as its ledger entry describes the loop (turn-text.mjs), for each architecture that has bounds.
// native/cuda/counts.json keeps them, for machines without cuobjdump.

import { existsSync, readFileSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { at } from "../build/paths.mjs";
import { boundsOf, CARDS } from "./bounds.mjs";
import { compileFor } from "./cubins.mjs";
import { readObject } from "./cuobjdump.mjs";
import { THREADS } from "./occupancy.mjs";
import { blocksOf } from "./sass.mjs";
import { compiledIn, sourceHashes } from "./sources.mjs";
import { readTurn } from "./turn-text.mjs";
import { COUNTS, nothing, sum, turnOf } from "./turns.mjs";

export const COUNTS_FILE = "native/cuda/counts.json";
const SOURCES_FILE = "build-cuda/sources.json"; // what the objects were compiled from
export const ARCHS = Object.keys(CARDS);

export const keptCounts = () =>
  existsSync(at(COUNTS_FILE)) ? JSON.parse(readFileSync(at(COUNTS_FILE), "utf8")) : { loops: {} };

/** Of all entries: {key, name, file, of: the turn by architecture, short, measured}. Keys are a kernel's name, and the turn's title where it has one. */
export function turnsOf(entries) {
  return Object.entries(entries).flatMap(([name, { file, turns }]) =>
    turns.map(({ turn, sm_89, short, measured }) => {
      const { title } = readTurn(turn);
      return {
        key: title ? `${name}, ${title}` : name,
        name,
        file,
        of: { sm_90: turn, sm_89: sm_89 ?? turn },
        short,
        measured,
      };
    }),
  );
}

/** An element's share of a turn, by what is counted. */
export const perElement = ({ of, turn }) => {
  const { elements, bytes } = readTurn(of);
  return { ...Object.fromEntries(COUNTS.map((name) => [name, (turn[name] ?? 0) / elements])), bytes };
};

/** What is wrong with the kept counts, in words: another source, another turn, more instructions than allowed. */
export function faultsOfCounts(entries, kept, hashes = sourceHashes()) {
  const turns = turnsOf(entries);
  const keys = new Set(turns.map(({ key }) => key));
  const gone = Object.keys(kept.loops).filter((key) => !keys.has(key));
  return [
    ...turns.flatMap((turn) => faultsOf(turn, kept.loops[turn.key], hashes)),
    ...gone.map((key) => `${COUNTS_FILE}: ${key} has no turn in the ledger; npm run ledger`),
  ];
}

function faultsOf({ key, of, short }, count, hashes) {
  const where = `${COUNTS_FILE}: ${key}`;
  if (!count) return [`${where} is missing; npm run ledger with cuobjdump`];
  if (count.sources !== hashes[count.file])
    return [`${where} was counted in another ${count.file}; npm run ledger with cuobjdump`];
  if (ARCHS.some((arch) => count[arch].of !== of[arch]))
    return [`${where} was counted by another turn; npm run ledger with cuobjdump`];
  return ARCHS.flatMap((arch) => {
    const { instructions } = perElement(count[arch]);
    const { most, must } = readTurn(of[arch]);
    const allowed = most[arch];
    return [
      ...(instructions > allowed
        ? [
            `${where} takes ${instructions.toFixed(1)} instructions an element on ${arch}, at most ${allowed} are allowed`,
          ]
        : []),
      ...(count[arch].predicted < must && !short
        ? [`${where} is below ${must} on ${arch}, and no line "short" of its ledger says why`]
        : []),
    ];
  });
}

/** The counts of the last CUDA build, and of code for the other architectures. Throws where it is not of these sources, or a loop is not found. */
export async function countLoops(entries, cuobjdump) {
  const hashes = sourceHashes();
  const built = existsSync(at(SOURCES_FILE)) ? JSON.parse(readFileSync(at(SOURCES_FILE), "utf8")) : { files: {} };
  const built90 = readdirSync(at("build-cuda/cmake"), { recursive: true }).filter((path) => path.endsWith(".cu.o"));
  const turns = turnsOf(entries);
  const files = [...new Set(turns.flatMap(({ file }) => compiledIn(file)))].sort();
  const other = await compileFor("sm_89", files, hashes);
  const loops = {};
  for (const file of files) {
    if (built.files[file] !== hashes[file]) throw new Error(`build-cuda is not of this ${file}; npm run build:cuda`);
    const object = at(
      join(
        "build-cuda/cmake",
        built90.find((path) => basename(path) === `${basename(file)}.o`),
      ),
    );
    const code = {
      sm_90: await readObject(cuobjdump, object, "sm_90a"),
      sm_89: await readObject(cuobjdump, other[file], "sm_89"),
    };
    const here = ({ key, file: own, of }) =>
      !loops[key] && compiledIn(own).includes(file) && instanceOf(code.sm_90, readTurn(of.sm_90).instance);
    for (const { key, name, of } of turns.filter(here)) {
      const { threads, shared } = entries[name];
      const counts = ARCHS.map((arch) => [arch, countOf(of[arch], code[arch], { threads, shared }, CARDS[arch])]);
      loops[key] = { file, sources: hashes[file], ...Object.fromEntries(counts) };
    }
  }
  const missing = turns.filter(({ key }) => !loops[key]);
  if (missing.length > 0) throw new Error(`no instance is compiled of ${missing.map(({ of }) => of.sm_90).join("\n")}`);
  return { nvcc: built.nvcc, loops: Object.fromEntries(Object.entries(loops).sort(([a], [b]) => (a < b ? -1 : 1))) };
}

const instanceOf = (kernels, name) => [...kernels].find(([key]) => key.startsWith(`${name}(`))?.[1];

function countOf(of, kernels, entry, card) {
  const { instance, ways, ahead, threads, shared } = readTurn(of);
  const found = instanceOf(kernels, instance);
  if (!found) throw new Error(`there is no ${instance} in ${[...kernels.keys()].join("\n")}`);
  const blocks = blocksOf(found.code);
  const turns = ways.map((way) => turnOf(blocks, way));
  const missing = turns.indexOf(undefined);
  if (missing >= 0) throw new Error(`no way through ${instance} does what way ${missing + 1} of its turn says: ${of}`);
  const turn = ways.reduce((total, { times }, i) => sum(total, turns[i], times), nothing());
  return {
    of,
    registers: found.registers,
    threads: threads ?? entry.threads ?? THREADS,
    shared: found.shared + (shared ?? entry.shared ?? 0),
    ahead: ahead ?? Math.max(...turns.map(({ loaded }) => loaded)), // bytes of a thread that can be in flight
    turn: rounded(turn),
    predicted: Number(boundsOf(perElement({ of, turn }), card).share.toFixed(3)),
  };
}

/** What is not 0. */
const rounded = (turn) =>
  Object.fromEntries(
    Object.entries(turn)
      .filter(([, value]) => value !== 0)
      .map(([name, value]) => [name, Number(value.toFixed(2))]),
  );
