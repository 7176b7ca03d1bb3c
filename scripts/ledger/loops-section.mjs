// The part of docs/cuda.md about hot loops: instructions an element, and the two bounds of each card.

import { boundsOf, CARDS } from "./bounds.mjs";
import { perElement, readTurn } from "./counts.mjs";
import { occupancy } from "./occupancy.mjs";
import { BASE } from "./registers.mjs";

const number = (value) => (value === 0 ? "0" : value < 10 ? value.toFixed(1) : value.toFixed(0));
const cells = (values) => `| ${values.join(" | ")} |`;

function row(name, { cost }, count) {
  const { instance, most, must } = readTurn(count.of);
  const element = perElement(count);
  const { blocks } = occupancy(BASE, { ...cost, registers: cost.registers[BASE] });
  const bounds = Object.values(CARDS).flatMap((card) => {
    const { bytes, issue, unit, share } = boundsOf(element, card);
    return [number(bytes), `${number(issue)} (${unit})`, must > share ? `**${share.toFixed(2)}**` : share.toFixed(2)];
  });
  return cells([
    `\`${instance.replace(/_kernel\b/, "")}\``,
    String(element.bytes),
    `${number(element.loaded)}, ${number(element.stored)}`,
    count.before,
    `${element.instructions.toFixed(1)} of ${most}`,
    ...["float64", "wide", "special", "shared"].map((kind) => number(element[kind])),
    number(element.tensor + element.warpgroup),
    number(element.branches),
    count.ahead,
    Math.round((count.ahead * blocks * cost.threads) / 1024),
    must ?? "",
    ...bounds,
  ]);
}

/** `rows`: those of the page, by name. */
export function loopsSection(rows, { nvcc, kernels }) {
  const rowOf = (name) => rows.find((one) => one.name === name);
  const lines = Object.entries(kernels).map(([name, count]) => row(name, rowOf(name), count));
  const reasons = Object.keys(kernels)
    .filter((name) => rowOf(name).entry.short)
    .map((name) => `- \`${name}\`: ${rowOf(name).entry.short}`);
  const cards = Object.entries(CARDS).map(
    ([name, { multiprocessors, clock, bandwidth }]) =>
      `${name}, ${multiprocessors} multiprocessors at ${(clock / 1e9).toFixed(2)} GHz, ${(bandwidth / 1e12).toFixed(2)} TB/s`,
  );
  const l2 = Object.values(CARDS)
    .map((card) => `${(card.l2 / 1e12).toFixed(1)} TB/s`)
    .join(" and ");
  return `## What each hot loop takes

Predictions, not measurements: counted in the machine code for ${BASE} of nvcc ${nvcc}. A count is of the cheapest way through one turn of
the loop that loads, stores and computes what the loop is for (\`turn\` of the ledger), divided by the elements of the turn; ways that
data takes now and then cost more, so a kernel is at best as fast as this. *wide*: conversions from and to float64; *shared*: shared
memory and shuffles; *tensor*: products of matrices of 2,048 multiply-adds; *bytes*: what memory must move for an element, *loaded, stored*: what the code does; *before*: instructions when the loop was first counted; *of*: the limit in the ledger, beyond which \`npm run ledger\` and the tests fail; bytes ahead: what the loads of a
turn can have in flight in a thread, and kB in a multiprocessor at the occupancy above.

Two bounds for each card, in picoseconds an element of the whole card: its bytes over the bandwidth, and its instructions over issue
slots, or those of a unit that is busier. *Share* is the speed of memory that is left: 1 where bytes are the larger bound, bold where it
is below the goal (*must*, bench/gpu/goals.ts). Of a loop on tensor cores it is the share of their peak, an element is one of the sums,
to which a turn adds 32 products, and the bytes are those that a block reads from L2, at ${l2}. The cards:
${cards.join(";\n")}.
A multiprocessor begins 2 float64 instructions a cycle on ${BASE}, 1 in 16 cycles on sm_89. The counts of ${BASE} stand for sm_89 too.

| loop | bytes | loaded, stored | before | instructions | float64 | wide | special | shared | tensor | branches | bytes ahead | kB | must | ${Object.keys(
    CARDS,
  )
    .map((name) => `${name}: bytes | issue | share`)
    .join(" | ")} |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ${Object.keys(CARDS)
    .map(() => "---: | ---: | ---:")
    .join(" | ")} |
${lines.join("\n")}

Why a loop stays below its goal:

${reasons.join("\n")}
`;
}
