// The part of docs/cuda.md about hot loops: of each card the instructions an element, and the two bounds.

import { boundsOf, CARDS } from "./bounds.mjs";
import { ARCHS, perElement, turnsOf } from "./counts.mjs";
import { occupancy } from "./occupancy.mjs";
import { readTurn } from "./turn-text.mjs";
import { loadsInWords } from "./turns.mjs";

const number = (value) => (value === 0 ? "0" : value < 10 ? value.toFixed(1) : value.toFixed(0));
const perElementOf = (value) => value.toFixed(value < 4 ? 2 : 1);
const cells = (values) => `| ${values.join(" | ")} |`;

/** What an element took when its loop was first counted. */
function earlier(before, now) {
  if (before === undefined) return "new";
  return Math.abs(before - now) < 0.05 ? "the same" : before;
}

/** The architecture on which loops were profiled. */
const MEASURED = "sm_90";
const OF_MEASURED = ["executed"];
const COLUMNS = [
  ["loop", "---"],
  ["bytes", "---:"],
  ["loads", "---"],
  ["loaded, stored", "---:"],
  ["before", "---:"],
  ["instructions", "---:"],
  ["executed", "---:"],
  ["float64", "---:"],
  ["wide", "---:"],
  ["special", "---:"],
  ["shared", "---:"],
  ["tensor", "---:"],
  ["branches", "---:"],
  ["registers", "---:"],
  ["blocks", "---:"],
  ["ahead", "---:"],
  ["kB", "---:"],
  ["by bytes", "---:"],
  ["by issue", "---:"],
  ["larger", "---"],
  ["share", "---:"],
  ["must", "---:"],
];

function row(arch, count) {
  const { title, instance, most, must, before, executed } = readTurn(count.of);
  const element = perElement(count);
  const { registers, threads, shared: sharedMemory, ahead } = count;
  const { blocks } = occupancy(arch, { threads, registers, sharedMemory });
  const { bytes, issue, unit, share } = boundsOf(element, CARDS[arch]);
  return cells([
    `\`${instance.replace(/_kernel\b/, "")}\`${title ? `, ${title}` : ""}`,
    element.bytes,
    loadsInWords(count.turn),
    `${number(element.loaded)}, ${number(element.stored)}`,
    earlier(before?.[arch], element.instructions),
    `${perElementOf(element.instructions)} of ${most[arch]}`,
    ...(arch === MEASURED ? [executed ?? ""] : []),
    ...["float64", "wide", "special", "shared"].map((kind) => number(element[kind])),
    number(element.tensor + element.warpgroup),
    number(element.branches),
    registers,
    `${blocks} x ${threads}`,
    ahead,
    Math.round((ahead * blocks * threads) / 1024),
    number(bytes),
    number(issue),
    issue > bytes ? unit : "bytes",
    must > share ? `**${share.toFixed(2)}**` : share.toFixed(2),
    must ?? "",
  ]);
}

function cardSection(arch, loops) {
  const { title, multiprocessors, clock, bandwidth } = CARDS[arch];
  const columns = COLUMNS.filter(([name]) => arch === MEASURED || !OF_MEASURED.includes(name));
  return `### ${arch}: ${title}

${multiprocessors} multiprocessors at ${(clock / 1e9).toFixed(2)} GHz, ${(bandwidth / 1e12).toFixed(2)} TB/s.

${cells(columns.map(([name]) => name))}
${cells(columns.map(([, line]) => line))}
${Object.values(loops)
  .map((count) => row(arch, count[arch]))
  .join("\n")}
`;
}

/** `ledger`: its entries, by name. */
export function loopsSection(ledger, { nvcc, loops }) {
  const said = (word) =>
    turnsOf(ledger)
      .filter((turn) => turn[word])
      .map((turn) => `- \`${turn.key}\`: ${turn[word]}`)
      .sort()
      .join("\n");
  const omitted = Object.entries(ledger)
    .filter(([, entry]) => entry.omitted)
    .map(([name, entry]) => `- \`${name}\`: ${entry.omitted}`)
    .sort()
    .join("\n");
  const l2 = Object.values(CARDS)
    .map((card) => `${(card.l2 / 1e12).toFixed(1)} TB/s`)
    .join(" and ");
  return `## What each hot loop takes

Predictions, not measurements: counted in the machine code of nvcc ${nvcc} for ${ARCHS.join(" and for ")}. A count is of the cheapest way through
a turn of the loop that loads, stores and computes what the loop is for (\`turn\` of the ledger), divided by the elements of the turn; ways
that data takes now and then cost more, so a kernel is at best as fast as this. *executed*: what an H200 executed an element, where it
was profiled ([notes](notes/gpu-h200.md)).

*bytes*: what memory must move for an element; *loads*: those of a turn, number x bytes; *loaded, stored*: what the code does for an
element; *before*: instructions when the loop, or the one in its place, was first counted; *instructions*: now, *of* the limit in the ledger, beyond
which \`npm run ledger\` and the tests fail; *wide*: conversions from and to float64; *shared*: cycles of shared memory, 128 bytes of a
warp each, and shuffles; *tensor*: products of matrices of 2,048 multiply-adds. *registers*, *blocks*: of the counted instance, and how many such blocks a
multiprocessor holds; *ahead*: bytes that a thread can have in flight, and *kB* all of a multiprocessor's.

Two bounds, in picoseconds an element of the whole card: by its bytes over the bandwidth, and by its instructions over issue slots, or
those of a unit that is busier. *larger* names the larger one. *share* is the speed of memory that is left: 1 where bytes are the larger bound, bold
where it is below the goal (*must*, bench/gpu/goals.ts). Of a loop on tensor cores it is the share of their peak, an element is one
of the sums, to which a turn adds 32 products, and the bytes are those that a block reads from L2, at ${l2}.
A multiprocessor begins 2 float64 instructions a cycle on sm_90, 1 in 16 cycles on sm_89, conversions among them.

${ARCHS.map((arch) => cardSection(arch, loops)).join("\n")}
Why a loop stays below its goal:

${said("short")}

Where a card measured less than is predicted here:

${said("measured")}

Kernels that memory or instructions limit, and whose loops are not counted:

${omitted}
`;
}
