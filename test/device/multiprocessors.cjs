// Prints the bits of ops that cut their launches by the number of multiprocessors, as hashes: node multiprocessors.cjs dist/index.js
"use strict";
const { createHash } = require("node:crypto");
const {
  findSpans,
  gae,
  linearLogprob,
  logprob,
  logprobBackward,
  prefixSums,
  shareWeights,
  tailSums,
  topMask,
} = require(process.argv[2]);

let state = 1;
const draw = () => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return state / 2 ** 32;
};
const floats = (count, scale = 1) => Float32Array.from({ length: count }, () => scale * (draw() - 0.5));
const hash = (...arrays) =>
  arrays
    .reduce(
      (sum, array) => sum.update(new Uint8Array(array.buffer, array.byteOffset, array.byteLength)),
      createHash("sha256"),
    )
    .digest("hex");

const backend = "emulated";
const [rows, steps] = [3, 20_000];
// Enough rows that a block of one multiprocessor takes several tiles of each.
const [many, vocab] = [12, 40_001];
const shape = [many, vocab];
const options = { shape, backend };
const logits = floats(many * vocab, 12);
const half = Uint16Array.from(new Uint32Array(logits.buffer), (bits) => bits >>> 16);
const targets = Int32Array.from({ length: many }, () => Math.floor(vocab * draw()));
const pairs = Int32Array.from({ length: 2 * many }, () => Math.floor(vocab * draw()));
const gradients = { gradLogProbs: floats(many), gradEntropies: floats(many) };
const forward = logprob(logits, targets, options);
const halfOptions = { ...options, dtype: "bfloat16" };

// Rows of a warp, of which it takes several where there are few multiprocessors; a row in five is left out by the mask.
const shortShape = [300, 1030];
const shortLogits = floats(shortShape[0] * shortShape[1], 12);
const shortTargets = Int32Array.from({ length: 2 * shortShape[0] }, () => Math.floor(shortShape[1] * draw()));
const shortMask = Uint8Array.from({ length: shortShape[0] }, (_, n) => (n % 5 === 2 ? 0 : 1));
const short = (dtype, options) => {
  const given =
    dtype === "float32" ? shortLogits : Uint16Array.from(new Uint32Array(shortLogits.buffer), (x) => x >>> 16);
  return logprob(given, shortTargets, { shape: shortShape, mask: shortMask, dtype, backend, ...options });
};
const shortBits = (found) => hash(...Object.values(found).filter(ArrayBuffer.isView));
// Ids of a head whose weights are made into parts at once, or, where there are few multiprocessors, 1024 at a time.
const [headRows, D, headIds] = [20, 9, 2500];
const headTargets = Int32Array.from({ length: headRows }, () => Math.floor(headIds * draw()));
const head = linearLogprob(floats(headRows * D), floats(headIds * D), headTargets, {
  shape: [headRows, D],
  sums: "bfloat16x3",
  chunkRows: 7,
  backend,
});
const values = floats(rows * steps);
const scanned = gae(floats(rows * steps), values, { shape: [rows, steps], gamma: 0.99, lambda: 0.95, backend });
const ids = Int32Array.from({ length: rows * steps }, () => Math.floor(40 * draw()));
const spans = findSpans(ids, { start: [1], end: [2], shape: [rows, steps], backend });
console.log(
  JSON.stringify({
    forward: hash(forward.logProbs, forward.entropies),
    gradient: hash(logprobBackward(logits, targets, forward, { ...options, ...gradients })),
    several: hash(logprobBackward(logits, pairs, forward, { ...options, gradLogProbs: floats(2 * many) })),
    short: shortBits(short("float32", {})),
    shortHalf: shortBits(short("bfloat16", { temperature: 0.7 })),
    shortCapped: shortBits(short("bfloat16", { softcap: 9 })),
    half: hash(logprobBackward(half, targets, logprob(half, targets, halfOptions), { ...halfOptions, ...gradients })),
    head: hash(head.logProbs, head.entropies),
    scanned: hash(scanned.advantages, scanned.returns),
    prefixes: hash(prefixSums(values, { shape: [rows, steps], backend })),
    tails: hash(tailSums(values, { shape: [rows, steps], gamma: 0.999, backend })),
    shares: hash(shareWeights(values, { shape: [rows, steps], gain: 0.5, backend }).weights),
    spans: hash(...Object.values(spans).filter(ArrayBuffer.isView)),
    chosen: hash(topMask(values, { share: 0.2, backend }).selected),
  }),
);
