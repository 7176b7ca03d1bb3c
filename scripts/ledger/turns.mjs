// What one turn of a loop costs a warp: the least way through it that loads, stores and computes what the ledger says it must.

import { loopsOf } from "./sass.mjs";

const BYTES = { 64: 8, 128: 16, U8: 1, S8: 1, U16: 2, S16: 2 };
const WIDTHS = [16, 8, 4, 2, 1];
const bytesOf = (op) => op.split(".").map((part) => BYTES[part]).find(Boolean) ?? 4; // oxfmt-ignore
/** How many cycles shared memory takes for a warp, 128 bytes each: four matrices are 512 bytes. */
const cyclesOf = (op) => (/^LDSM\b.*\.4$/.test(op) ? 4 : /^(LDS|STS)\b/.test(op) ? Math.max(1, bytesOf(op) / 4) : 1);
/** Of products of 2,048: a warp makes 16 of the 64 rows of a warpgroup's. */
const productsOf = (op) => {
  const [, columns, terms] = /^HGMMA\.64x(\d+)x(\d+)\b/.exec(op).map(Number);
  return (16 * columns * terms) / 2048;
};

/** An instruction may be of several kinds. */
const KINDS = [
  ["loads", /^(LDG|LDGSTS|LD)\b/],
  ["copies", /^LDGSTS\b/], // to shared memory
  ["stores", /^(STG|ST)\b/],
  ["shared", /^(LDS|STS|LDSM|STSM|ATOMS|SHFL)\b/, cyclesOf],
  ["read", /^(LDS|LDSM)\b/], // of shared memory
  ["written", /^(STS|STSM)\b/],
  ["shuffles", /^SHFL\b/],
  ["atomics", /^(ATOM|ATOMG|ATOMS|RED)\b/],
  ["special", /^MUFU\b/],
  ["tensor", /^HMMA\b/],
  ["warpgroup", /^HGMMA\b/, productsOf],
  ["wide", /^(F2F|I2F|F2I)\b.*64/],
  ["float64", /^D(ADD|MUL|FMA|SETP|MNMX)\b/],
  ["fused", /^FFMA\b/], // of float32
  ["votes", /^(VOTE|VOTEU|MATCH)\b/],
  ["barriers", /^(BAR|SYNCS)\b/],
  ["branches", /^(BRA|BRX|CALL|RET|BSSY|BSYNC|WARPSYNC)\b/],
];
const loadsOf = (width) => `loads${width}`;
export const COUNTS = ["instructions", "loaded", "stored", ...KINDS.map(([kind]) => kind), ...WIDTHS.map(loadsOf)];

export const nothing = () => Object.fromEntries(COUNTS.map((name) => [name, 0]));
/** a + times b. */
export const sum = (a, b, times = 1) => Object.fromEntries(COUNTS.map((name) => [name, a[name] + times * b[name]]));

/** The loads of a turn in words: "4 x 16" of 16 bytes each. */
export const loadsInWords = (turn) =>
  WIDTHS.filter((width) => turn[loadsOf(width)] > 0)
    .map((width) => `${Number(turn[loadsOf(width)].toFixed(1))} x ${width}`)
    .join(" + ");

function costOf(code) {
  const cost = nothing();
  for (const { op } of code) {
    cost.instructions += 1;
    for (const [kind, pattern, amount] of KINDS) if (pattern.test(op)) cost[kind] += amount?.(op) ?? 1;
    if (/^(LDG|LDGSTS|LD)\b/.test(op)) {
      cost.loaded += bytesOf(op);
      cost[loadsOf(bytesOf(op))] += 1;
    }
    if (/^(STG|ST)\b/.test(op)) cost.stored += bytesOf(op);
  }
  return cost;
}

/**
 * The least cost of a way from block `head` to where `isEnd` holds, that has at least the counts of `needed`: for each state of
 * what is still needed the cheapest way onwards is kept, {k: its first block, rest: the way behind it, instructions, counts}.
 */
function leastWay(blocks, costs, head, isEnd, inside, needed) {
  const names = Object.keys(needed);
  const most = Object.values(needed);
  const known = new Map();
  const open = new Set();
  const longer = (k, rest) => ({
    k,
    rest,
    instructions: costs[k].instructions + (rest?.instructions ?? 0),
    counts: names.map((name, i) => Math.min(costs[k][name] + (rest?.counts[i] ?? 0), most[i])),
  });
  const ways = (k) => {
    if (known.has(k)) return known.get(k);
    if (open.has(k)) return []; // a circle that is no loop: no way on from here
    open.add(k);
    const found = isEnd(k) ? [longer(k)] : [];
    for (const to of blocks[k].next)
      if (!blocks[k].back.includes(to) && inside(to)) for (const rest of ways(to)) found.push(longer(k, rest));
    open.delete(k);
    const kept = notWorse(found);
    known.set(k, kept);
    return kept;
  };
  const least = ways(head).find(({ counts }) => counts.every((count, i) => count >= most[i]));
  let total = least && nothing();
  for (let way = least; way; way = way.rest) total = sum(total, costs[way.k]);
  return total;
}

/** Those that no cheaper one replaces, which has at least as much of everything that is needed; the cheapest first. */
function notWorse(ways) {
  const cheapest = new Map();
  for (const way of ways) {
    const key = way.counts.join();
    if (!(cheapest.get(key)?.instructions <= way.instructions)) cheapest.set(key, way);
  }
  const kept = [];
  for (const way of [...cheapest.values()].sort((a, b) => a.instructions - b.instructions))
    if (!kept.some(({ counts }) => way.counts.every((count, i) => count <= counts[i]))) kept.push(way);
  return kept;
}

/**
 * The cost of a way that does what is `needed` and nothing of `none`: of a turn of a loop, of several the cheapest; or of the whole
 * kernel where no loop does, or it is asked for. Loops inside of it make `inner` turns. Undefined where there is no such way.
 */
export function turnOf(blocks, { needed, none = [], inner = 1, whole = false }) {
  const loops = loopsOf(blocks).sort((a, b) => a.body.size - b.body.size);
  const costs = blocks.map(({ code }) => costOf(code));
  const allowed = costs.map((cost) => none.every((kind) => cost[kind] === 0));
  const satisfied = [];
  let least;
  for (const { head, body } of loops) {
    if (whole && inner === 1) break;
    if (satisfied.some((inner) => body.has(inner))) continue; // a loop around one that does it
    if (none.some((kind) => costs[head][kind] > 0)) continue;
    const isLatch = (k) => blocks[k].back.includes(head);
    const inside = (k) => body.has(k) && allowed[k];
    const has = (wanted) =>
      Object.entries(wanted).every(
        ([name, least]) => [...body].reduce((total, k) => total + (allowed[k] ? costs[k][name] : 0), 0) >= least,
      );
    const turn = (wanted) => (has(wanted) ? leastWay(blocks, costs, head, isLatch, inside, wanted) : undefined);
    const found = turn(needed);
    if (found) satisfied.push(head);
    if (found && (!least || found.instructions < least.instructions)) least = found;
    const kind = ["fused", "float64"].find((kind) => needed[kind]);
    const around = inner > 1 && !found && ((kind && turn({ [kind]: 1 })) || turn({}));
    if (around) costs[head] = sum(costs[head], around, inner - 1);
  }
  if (least && !whole) return least;
  return leastWay(blocks, costs, 0, (k) => blocks[k].next.length === 0, (k) => allowed[k], needed); // oxfmt-ignore
}
