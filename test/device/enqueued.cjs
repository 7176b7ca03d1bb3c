"use strict";

// EMPG on the emulated device, of whose runtime one call after another is made to fail: argument 2 is the built package. Prints as
// JSON which of the runtime's functions the call uses, from ids to advantages, before anybody reads; and which the reading uses.
// For enqueued.test.ts.

const s = require(process.argv[2]);

const backend = "emulated";
const shape = [4, 300];
const n = shape[0] * shape[1];
const tokens = Int32Array.from({ length: n }, (_, i) => (i * 7 + Math.floor(i / 11)) % 10);
const entropies = Float32Array.from({ length: n }, (_, i) => (i % 13) / 5);
const send = (array) => s.toDevice(array, { backend });
const batch = {
  shape,
  tokens: send(tokens),
  entropies: send(entropies),
  rowAdvantages: send(Float32Array.of(1, -1, 0.5, -0.25)),
  mask: send(new Uint8Array(n).fill(1)),
  lengths: send(new Int32Array(shape[0]).fill(shape[1])),
};
const enqueue = () => s.empgAdvantage(batch, { start: [[1], [3, 4]], end: [2] });

const order = (what) => {
  process.env.SURPRISAL_EMULATION_FAIL = what;
};

/** How often `work` calls the function: the first call that cannot be made to fail is one too many. */
function count(name, prepare, work) {
  for (let calls = 0; ; calls++) {
    const what = prepare();
    order(`${name}:${calls + 1}`);
    try {
      work(what);
      return calls;
    } catch (error) {
      if (!(error instanceof s.SurprisalError)) throw error;
    } finally {
      order("off");
      s.deviceStream({ backend }).sync();
    }
  }
}

// Copies to the device ask for an event, too: that of page-locked memory which a query has found free, so that it is past.
const WAITS = [
  "cudaStreamSynchronize",
  "cudaDeviceSynchronize",
  "cudaMemcpy",
  "cudaMemset",
  "cudaFree",
  "cudaFreeHost",
];
enqueue().advantages.read(); // memory is there from now on
const enqueued = {};
for (const name of ["launch", "cudaMemcpyAsync", "cudaMalloc", "cudaMallocAsync", ...WAITS])
  enqueued[name] = count(name, () => null, enqueue);
const read = {};
for (const name of [...WAITS, "cudaEventSynchronize"])
  read[name] = count(name, enqueue, (found) => found.advantages.read());
console.log(JSON.stringify({ enqueued, read, steps: enqueue().spans.read().count }));
