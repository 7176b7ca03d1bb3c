// Prints what the emulated device makes of a linear head on tensor cores, bit by bit: capability.cjs INDEX
const { createHash } = require("node:crypto");
const { linearLogprob, linearLogprobBackward } = require(process.argv[2]);

let state = 5;
const random = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
/** Numbers from -2 to 2. */
const numbers = (count, dtype) =>
  dtype === "float32"
    ? Float32Array.from({ length: count }, () => 4 * random() - 2)
    : Uint16Array.from({ length: count }, () => {
        const sign = random() < 0.5 ? 0x8000 : 0;
        return sign | (dtype === "float16" ? 0x2c00 + random() * 0x1400 : 0x3d80 + random() * 0x280);
      });

for (const [dtype, sums] of [
  ["float16", "float32"],
  ["bfloat16", "float32"],
  ["float32", "bfloat16x3"],
]) {
  const [N, D, V] = [256, 264, 256];
  const [hidden, weight, bias] = [numbers(N * D, dtype), numbers(V * D, dtype), numbers(V, dtype)];
  const targets = Int32Array.from({ length: N }, () => random() * V);
  const slopes = Float32Array.from({ length: N }, () => random() - 0.5);
  const options = { shape: [N, D], dtype, sums, bias, backend: "emulated" };
  const rows = linearLogprob(hidden, weight, targets, options);
  const gradients = linearLogprobBackward(hidden, weight, targets, rows, { ...options, gradLogProbs: slopes });
  for (const [name, array] of Object.entries({ ...rows, ...gradients })) {
    if (!ArrayBuffer.isView(array)) continue;
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    console.log(dtype, name, createHash("sha256").update(bytes).digest("hex").slice(0, 16));
  }
}
