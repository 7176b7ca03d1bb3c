"use strict";

// A process whose calls of the CUDA runtime fail, one after another, on the emulated device: argument 2 is the built package.
// Prints as JSON, by op, how many calls were refused, how many were mended, and what was wrong. For failing-calls.test.ts.

const s = require(process.argv[2]);

const backend = "emulated";
const rewards = Float32Array.of(0, 0, 1, 0, 0.5, 0);
const values = Float32Array.of(0.2, 0.4, 0.6, 0.1, 0.3, 0);
const mask = Uint8Array.of(1, 1, 1, 1, 1, 0);
const logits = Float32Array.of(2, 1, 0, -1, 0, 25, 1, -2);

/** Each returns typed arrays. */
const OPS = {
  gae: () => Object.values(s.gae(rewards, values, { shape: [2, 3], gamma: 1, lambda: 0.95, mask, backend })),
  tailSums: () => [s.tailSums(rewards, { shape: [2, 3], gamma: 0.5, backend })],
  logprob: () => Object.values(s.logprob(logits, [1, 1], { shape: [2, 4], temperature: 1, backend })),
  groupNormalize: () => Object.values(s.groupNormalize(rewards, { groups: [1, 1, 1, 2, 2, 2], backend })),
};
const MOST = 60; // calls of the runtime that one of these takes, and some more

const bytes = (arrays) =>
  arrays
    .filter(ArrayBuffer.isView)
    .map((array) => Buffer.from(array.buffer, array.byteOffset, array.byteLength).toString("hex"));
const order = (what) => {
  process.env.SURPRISAL_EMULATION_FAIL = what;
};

const report = {};
for (const [name, op] of Object.entries(OPS)) {
  const facts = { refused: 0, mended: 0, wrong: [] };
  report[name] = facts;
  const want = bytes(op()).join();
  for (let n = 1; n <= MOST; n++) {
    order(`*:${n}`);
    try {
      if (bytes(op()).join() !== want) facts.wrong.push(`call ${n} fails unseen`);
      facts.mended++;
    } catch (error) {
      facts.refused++;
      const said =
        error instanceof s.SurprisalError &&
        /^ERR_SURPRISAL_(DEVICE|OUT_OF_MEMORY|BACKEND_UNAVAILABLE)$/.test(error.code);
      if (!said || !/\w{4}/.test(error.message)) facts.wrong.push(`call ${n}: ${error}`);
    }
    order("off");
    if (bytes(op()).join() !== want) facts.wrong.push(`after call ${n} the next is wrong`);
  }
}
console.log(JSON.stringify(report));
