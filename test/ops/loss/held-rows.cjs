// Prints, for each kind of row, what of a token loss from logits differs from the three calls that it stands for, on the emulated
// device: node held-rows.cjs dist/index.js
"use strict";
const { logprob, logprobBackward, tokenLoss, tokenLossFromLogits } = require(process.argv[2]);

let state = 1;
const draw = () => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return state / 2 ** 32;
};
const backend = "emulated";
const bits = (array) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
const equal = (a, b) => Buffer.compare(bits(a), bits(b)) === 0;

const bfloat16 = (values) => Uint16Array.from(new Uint32Array(values.buffer), (word) => word >>> 16);
/** Not of the same values, but of as many: 0 to 12 become 1 to 11. */
const float16 = (values) =>
  Uint16Array.from(values, (x) =>
    Number.isNaN(x) ? 0x7e00 : Number.isFinite(x) ? 0x3c00 + Math.floor(288 * x) : x > 0 ? 0x7c00 : 0xfc00,
  );

/** Rows with masked ids, one without a finite logit, one with +infinity; a token that the mask leaves out. */
function compare(dtype, [rows, vocab, stride = vocab]) {
  const values = new Float32Array(rows * stride).fill(NaN); // the padding is not read
  for (let n = 0; n < rows; ++n)
    for (let j = 0; j < vocab; ++j)
      values[n * stride + j] = rows > 4 && n === 2 ? -Infinity : draw() < 0.1 ? -Infinity : 12 * draw();
  if (rows > 4) values[3 * stride + vocab - 1] = Infinity;
  const logits = { float32: () => values, bfloat16: () => bfloat16(values), float16: () => float16(values) }[dtype]();
  const targets = Int32Array.from({ length: rows }, () => Math.floor(vocab * draw()));
  const mask = Uint8Array.from({ length: rows }, (_, n) => (n === 1 && rows > 2 ? 0 : 1));
  const floats = () => Float32Array.from({ length: rows }, () => draw() - 0.5);
  const where = { shape: [rows, vocab], stride, dtype, mask, backend };
  const given = {
    form: "clip",
    clipLow: 0.2,
    clipHigh: 0.2,
    shape: [rows, 1],
    advantages: floats(),
    advantagesPer: "token",
    mask,
    backend,
  };

  const found = logprob(logits, targets, where);
  const oldLogProbs = found.logProbs.map((x) => (Number.isFinite(x) ? x : -1) + 0.1 * draw());
  const loss = tokenLoss({ ...given, oldLogProbs, logProbs: found.logProbs, outputs: ["gradLogProbs"] });
  const gradEntropies = new Float32Array(rows).fill(-0.01).map((x, n) => (mask[n] ? x : 0));
  const gradLogits = logprobBackward(logits, targets, found, {
    ...where,
    gradLogProbs: loss.gradLogProbs,
    gradEntropies,
  });
  const want = { ...found, gradLogits };
  const options = { ...given, oldLogProbs, dtype, stride, vocab, entropy: { coefficient: 0.01 }, outputs: [] };
  const fused = tokenLossFromLogits(logits, targets, options);
  const own = logits.slice();
  tokenLossFromLogits(own, targets, { ...options, out: own });
  const differ = Object.keys(want).filter((name) => !equal(want[name], fused[name]));
  const finite = fused.entropies.filter(Number.isFinite).length;
  return {
    dtype,
    rows,
    vocab,
    stride,
    finite,
    differ: equal(own, fused.gradLogits) ? differ : [...differ, "in place"],
  };
}

const cases = JSON.parse(process.argv[3]);
console.log(JSON.stringify(cases.map(([dtype, shape]) => compare(dtype, shape))));
