// Prints what the emulated device computes in float64 for single tokens and ids, or, of capability 8.9, in pairs of float32:
// slow-float64.cjs INDEX. [op, name, kind, numbers], where kind says what they are: sums of rows, divergences, or what is rounded to float32 or
// bfloat16.
"use strict";
const { boundMismatch, divergence, divergenceBackward, measureMismatch, rowLoss, tokenLoss } = require(process.argv[2]);

let state = 3;
const draw = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
/** About a normal distribution. */
const near = () => 2 * (draw() + draw() + draw() + draw() - 2);
const floats = (count, at) => Float32Array.from({ length: count }, at);

const results = [];
let op = "";
const say = (name, kind, array) => results.push([op, `${op}, ${name}`, kind, Array.from(array, String)]);

const shape = [6, 700];
const tokens = shape[0] * shape[1];
const logProbs = floats(tokens, () => -2 * Math.abs(near()));
const oldLogProbs = logProbs.map((x) => x + near() / 4);
const referenceLogProbs = logProbs.map((x) => x + near() / 3);
const advantages = floats(tokens, near);
const mask = Uint8Array.from({ length: tokens }, () => (draw() < 0.8 ? 1 : 0));
// Numbers that pairs do not hold, each in a row of its own; the last two rows have none.
oldLogProbs[5] = -3000;
logProbs[705] = -Infinity;
advantages[1405] = 1e30;
advantages[2105] = 1e-35;
advantages[2805] = 0;
mask[5] = mask[705] = mask[1405] = mask[2105] = mask[2805] = 1;
const rows = { shape, logProbs, oldLogProbs, advantages, mask, backend: "emulated" };

const FORMS = {
  clip: { clipLow: 0.2, clipHigh: 0.28 },
  linear: {},
  weighted: { clipLow: 0.2, clipHigh: 0.28 },
  sigmoid: { temperaturePositive: 1.2, temperatureNegative: 1.05 },
  marked: { coefficient: 0.3, marks: mask.map((_, i) => i % 2) },
  bounded: { clipLow: 0.2, clipHigh: 0.28 },
  squared: { clipLow: 0.2, clipHigh: 0.28 },
};
const KL = ["none", "k1", "abs", "k2", "k3"];
const OUTPUTS = ["losses", "ratios", "clipped", "gradLogProbs"];
for (const [form, bounds] of Object.entries(FORMS))
  for (const kind of KL) {
    const kl = kind === "none" ? undefined : { referenceLogProbs, kind, coefficient: 0.1, timesRatio: kind === "k2" };
    const outputs = kl ? [...OUTPUTS, "klValues"] : OUTPUTS;
    op = `tokenLoss ${form}`;
    const result = tokenLoss({ ...rows, form, ...bounds, outputs, ...(kl && { kl }) });
    for (const output of outputs) say(`${kind}: ${output}`, "float32", result[output]);
    for (const [figure, values] of Object.entries(result.rowFigures)) say(`${kind}: ${figure}`, "sums", values);
  }

op = "rowLoss";
const sequence = rowLoss({ ...rows, ...FORMS.clip, form: "clip", advantagesPer: "token", outputs: OUTPUTS });
for (const output of OUTPUTS) say(`${output}`, "float32", sequence[output]);
for (const [figure, values] of Object.entries(sequence.rowFigures)) say(`${figure}`, "sums", values);

for (const statistic of ["k1", "k2", "k3", "ratio", "distance", "current", "old", "total"]) {
  const options = { shape, mask, statistic, low: 0.1, high: 1.5, backend: "emulated" };
  op = `measureMismatch ${statistic}`;
  const measured = measureMismatch(logProbs, oldLogProbs, options);
  for (const moments of ["moments", "bounded"])
    for (const [name, values] of Object.entries(measured[moments]))
      if (ArrayBuffer.isView(values)) say(`${moments}: ${name}`, "sums", values);
  for (const name of ["differences", "above", "below"]) say(name, "sums", measured[name]);
  op = `boundMismatch ${statistic}`;
  const bound = boundMismatch(logProbs, oldLogProbs, options);
  say("weights", "float32", bound.weights);
  say("kept", "float32", bound.kept);
}

const bfloat16 = (values) => Uint16Array.from(new Uint32Array(values.buffer), (word) => word >>> 16);
const widened = (values) => new Float32Array(Uint32Array.from(values, (bits) => bits << 16).buffer);
const [N, V] = [5, 3001];
const student = floats(N * V, () => 3 * near());
const teacher = student.map((x) => x + near());
student[V + 7] = teacher[2 * V + 9] = -Infinity;
teacher.copyWithin(3 * V, 4 * V, 5 * V);
student.copyWithin(3 * V, 4 * V, 5 * V); // its teacher's row, and then the same
teacher.set(student.subarray(3 * V, 4 * V), 3 * V);
for (const dtype of ["float32", "bfloat16"])
  for (const beta of [0, 1])
    for (const temperature of [1, 0.7, 1e-25]) {
      const [s, t] = dtype === "float32" ? [student, teacher] : [bfloat16(student), bfloat16(teacher)];
      const options = { shape: [N, V], dtype, beta, temperature, backend: "emulated" };
      op = `divergence, beta ${beta}`;
      const name = `${dtype}, temperature ${temperature}`;
      say(`${name}: divergences`, "divergences", divergence(s, t, options));
      const gradient = divergenceBackward(s, t, new Float64Array(N).fill(1), options);
      say(`${name}: gradient`, dtype, dtype === "float32" ? gradient : widened(gradient));
    }

process.stdout.write(JSON.stringify(results));
