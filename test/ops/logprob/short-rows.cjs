// Prints the bits of many rows of one slice or two on the emulated device: node short-rows.cjs dist/index.js
"use strict";
const { logprob } = require(process.argv[2]);

const N = 61;
// Four rows under way in a warp, two, one; whole slices; two slices of 16 bits; more than that.
const VOCABULARIES = [3, 500, 1024, 2003, 4096, 5000, 8192, 8200];

let state = 1;
function drawn() {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return state % 5 === 0 ? -Infinity : (12 * state) / 2 ** 32;
}

for (const V of VOCABULARIES)
  for (const padding of [0, 3]) {
    const stride = Math.ceil(V / 8) * 8 + padding; // aligned, and lying otherwise in each row
    const numbers = Float32Array.from({ length: N * stride }, drawn);
    const upper = new Uint16Array(numbers.buffer).filter((_, i) => i % 2 === 1); // of a float32: a bfloat16
    const mask = Uint8Array.from({ length: N }, (_, n) => Number(n % 7 !== 3));
    const targets = Int32Array.from({ length: N }, (_, n) => n % V);
    for (const [dtype, logits] of [
      ["float32", numbers],
      ["bfloat16", upper],
    ]) {
      const rows = logprob(logits, targets, { shape: [N, V], stride, mask, dtype, backend: "emulated" });
      console.log(JSON.stringify([V, padding, dtype, Object.values(rows).map((all) => Array.from(all, String))]));
    }
  }
