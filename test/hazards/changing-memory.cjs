// Run by changing-memory.test.ts in a process of its own: `node changing-memory.cjs DIST BACKEND TIMES`. Another thread changes every array
// of the calls while they run. Prints how many calls gave a result, and how many were refused.
"use strict";

const { Worker } = require("node:worker_threads");
const s = require(process.argv[2]);
const backend = process.argv[3];

const [ROWS, TOKENS, GROUPS, CALLS] = [400, 8000, 40, +process.argv[4]];

/** A copy of the array in shared memory. */
function shared(array) {
  const copy = new array.constructor(new SharedArrayBuffer(array.byteLength));
  copy.set(array);
  return copy;
}

const cut = (parts, whole) => shared(Int32Array.from({ length: parts + 1 }, (_, i) => (i * whole) / parts));
const arrays = {
  offsets: cut(ROWS, TOKENS),
  groupOffsets: cut(GROUPS, ROWS),
  tokenGroups: cut(GROUPS, TOKENS),
  ids: shared(Int32Array.from({ length: TOKENS }, (_, i) => i % 7)),
  mask: shared(Uint8Array.from({ length: TOKENS }, (_, i) => (i % 3 === 0 ? 0 : 1))),
  values: shared(Float32Array.from({ length: TOKENS }, (_, i) => Math.sin(i))),
  rewards: shared(Float32Array.from({ length: ROWS }, (_, i) => Math.cos(i))),
};
const { offsets, groupOffsets, tokenGroups, ids, mask, values, rewards } = arrays;
const rows = { offsets, mask, backend };

// What counts first and writes later, what goes where an index says, and what loops from offset to offset.
const calls = [
  () => s.discountedReturns(values, { ...rows, gamma: 0.5 }),
  () => s.gae(values, values, { ...rows, gamma: 0.5, lambda: 0.5 }),
  () => s.groupNormalize(rewards, { groupOffsets, backend }),
  () => s.groupSoftmax(values, { groupOffsets: tokenGroups, temperature: 1, backend }),
  () => s.groupTop2(values, { groupOffsets: tokenGroups, backend }),
  () => s.groupBroadcast(rewards, rows),
  () => s.quantileMask(values, { ...rows, q: 0.7 }),
  () => s.quantileMask(values, { ...rows, q: 0.7, over: "row" }),
  () => s.topMask(values, { ...rows, k: 500 }),
  () => s.covarianceMask(values, values, { ...rows, share: 0.2 }),
  () => s.moments(values, { ...rows, over: "row" }),
  () => s.whiten(values, rows),
  () => s.findSpans(ids, { offsets, start: [[1], [2, 3]], end: [[5]], overlapping: true, backend }),
  () => s.logprob(values, ids.subarray(0, TOKENS / 8), { shape: [TOKENS / 8, 8], backend }),
  () =>
    s.clippedObjective(values, values, rewards, {
      ...rows,
      level: "group",
      groupOffsets,
      clipLow: 0.2,
      clipHigh: 0.2,
    }),
];

const scribble = ({ arrays, rights }) => {
  let random = 1;
  const next = () => (random = (Math.imul(random, 1_664_525) + 1_013_904_223) | 0) >>> 0;
  for (;;)
    for (const [i, array] of arrays.entries()) {
      // For a moment, so that some calls pass the checks and some see the number in the middle of their work.
      const at = next() % array.length;
      array[at] = array instanceof Float32Array ? [NaN, Infinity, -1e30, 5][next() % 4] : next() >> (next() % 32);
      for (let wait = next() % 400; wait > 0; --wait) Atomics.load(arrays[0], 0);
      array[at] = rights[i][at];
    }
};
const list = Object.values(arrays);
const worker = new Worker(`(${scribble.toString()})(require("node:worker_threads").workerData);`, {
  eval: true,
  workerData: { arrays: list, rights: list.map((array) => array.slice()) },
});

worker.once("online", () => {
  let [answered, refused] = [0, 0];
  for (let i = 0; i < CALLS; ++i)
    for (const call of calls)
      try {
        call();
        answered += 1;
      } catch (error) {
        if (!(error instanceof s.SurprisalError)) throw error;
        refused += 1;
      }
  console.log(JSON.stringify({ answered, refused }));
  process.exit(0);
});
