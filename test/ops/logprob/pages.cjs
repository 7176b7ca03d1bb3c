// Prints the bits of four rows of 294 slices on the emulated device: node pages.cjs dist/index.js
"use strict";
const { logprob } = require(process.argv[2]);

const [N, V] = [4, 294 * 2048 - 5];
let state = 1;
const logits = Float32Array.from({ length: N * V }, () => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return (12 * state) / 2 ** 32;
});
const { logProbs, entropies, sumSquares } = logprob(logits, [1, 2, 3, 4], { shape: [N, V], backend: "emulated" });
console.log(JSON.stringify([logProbs, entropies, sumSquares].map((numbers) => Array.from(numbers))));
