// What one turn of a loop costs a warp: the least way through it that loads, stores and computes what the ledger says it must.

import { loopsOf } from "./sass.mjs";

const BYTES = { 64: 8, 128: 16, U8: 1, S8: 1, U16: 2, S16: 2 };
/** Four matrices: 512 bytes of shared memory, where a cycle brings 128. */
const isWide = (op) => /^LDSM\b.*\.4$/.test(op);
/** Of products of 2,048: a warp makes 16 of the 64 rows of a warpgroup's. */
const productsOf = (op) => {
  const [, columns, terms] = /^HGMMA\.64x(\d+)x(\d+)\b/.exec(op).map(Number);
  return (16 * columns * terms) / 2048;
};
const bytesOf = (op) => op.split(".").map((part) => BYTES[part]).find(Boolean) ?? 4; // oxfmt-ignore

const KINDS = [
  ["loads", /^(LDG|LDGSTS|LD)\b/],
  ["stores", /^(STG|ST)\b/],
  ["shared", /^(LDS|STS|LDSM|STSM|ATOMS|SHFL)\b/],
  ["special", /^MUFU\b/],
  ["tensor", /^HMMA\b/],
  ["warpgroup", /^HGMMA\b/],
  ["wide", /^(F2F|I2F|F2I)\b.*64/],
  ["float64", /^D(ADD|MUL|FMA|SETP|MNMX)\b/],
  ["barriers", /^(BAR|SYNCS)\b/],
  ["branches", /^(BRA|BRX|CALL|RET|BSSY|BSYNC|WARPSYNC)\b/],
];
export const COUNTS = ["instructions", "loaded", "stored", ...KINDS.map(([kind]) => kind)];

const nothing = () => Object.fromEntries(COUNTS.map((name) => [name, 0]));
const sum = (a, b, times = 1) => Object.fromEntries(COUNTS.map((name) => [name, a[name] + times * b[name]]));

function costOf(code) {
  const cost = nothing();
  for (const { op } of code) {
    const kind = KINDS.find(([, pattern]) => pattern.test(op))?.[0];
    cost.instructions += 1;
    if (kind) cost[kind] += kind === "warpgroup" ? productsOf(op) : isWide(op) ? 4 : 1;
    if (kind === "loads") cost.loaded += bytesOf(op);
    if (kind === "stores") cost.stored += bytesOf(op);
  }
  return cost;
}

/**
 * The least cost of a way from block `head` to where `isEnd` holds, that has at least the counts of `needed`: for each state of
 * what is still needed the cheapest way onwards is kept.
 */
function leastWay(blocks, costs, head, isEnd, inside, needed) {
  const names = Object.keys(needed);
  const known = new Map();
  const open = new Set();
  const key = (cost) => names.map((name) => Math.min(cost[name], needed[name])).join();
  const ways = (k) => {
    if (known.has(k)) return known.get(k);
    const found = new Map();
    const offer = (cost) => {
      const old = found.get(key(cost));
      if (!old || cost.instructions < old.instructions) found.set(key(cost), cost);
    };
    if (open.has(k)) return found; // a circle that is no loop: no way on from here
    open.add(k);
    if (isEnd(k)) offer(costs[k]);
    for (const to of blocks[k].next)
      if (!blocks[k].back.includes(to) && inside(to)) for (const rest of ways(to).values()) offer(sum(costs[k], rest));
    open.delete(k);
    known.set(k, found);
    return found;
  };
  return ways(head).get(key(needed));
}

/**
 * The cost of a turn of the loop that does what is `needed`, or of the whole kernel where no loop does: of several the cheapest.
 * Loops inside of it make `inner` turns. Undefined where there is no such way.
 */
export function turnOf(blocks, needed, inner = 1) {
  const loops = loopsOf(blocks).sort((a, b) => a.body.size - b.body.size);
  const costs = blocks.map(({ code }) => costOf(code));
  let least;
  for (const { head, body } of loops) {
    const isLatch = (k) => blocks[k].back.includes(head);
    const turn = (wanted) => leastWay(blocks, costs, head, isLatch, (k) => body.has(k), wanted);
    const found = turn(needed);
    if (found && (!least || found.instructions < least.instructions)) least = found;
    const around = inner > 1 && !found && ((needed.float64 && turn({ float64: 1 })) || turn({}));
    if (around) costs[head] = sum(costs[head], around, inner - 1);
  }
  return least ?? leastWay(blocks, costs, 0, (k) => blocks[k].next.length === 0, () => true, needed); // oxfmt-ignore
}
