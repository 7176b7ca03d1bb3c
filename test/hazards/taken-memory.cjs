// Run by taken-memory.test.ts in one process: `node --expose-gc taken-memory.cjs DIST`. Everything that JavaScript can do to the
// buffer of an array while an asynchronous call works on it; prints one line for each, with what the call gave.
"use strict";

const { backendInfo, logprob, logprobAsync, logprobBackwardAsync, toDevice } = require(process.argv[2]);

const [ROWS, VOCAB] = [128, 32_000];
const BYTES = ROWS * VOCAB * 4;
const { transfer, transferToFixedLength } = ArrayBuffer.prototype;
const later = () => new Promise((next) => setImmediate(next));

/** What takes the memory of a buffer away, and where it goes is dropped. Node 20 has no transfer(). */
const takings = {
  "structuredClone with transfer": (buffer) => structuredClone(buffer, { transfer: [buffer] }),
  postMessage(buffer) {
    const { port1, port2 } = new MessageChannel();
    port1.postMessage(buffer, [buffer]);
    port1.close();
    port2.close();
  },
  "a byte stream": (buffer) =>
    new ReadableStream({ type: "bytes", start: (controller) => controller.enqueue(new Uint8Array(buffer)) }),
  ...(transfer && {
    "transfer()": (buffer) => buffer.transfer(),
    "transfer(0)": (buffer) => buffer.transfer(0),
    "transfer(8)": (buffer) => buffer.transfer(8),
    "transfer to more": (buffer) => buffer.transfer(buffer.byteLength + 8),
    "the prototype's transfer(0)": (buffer) => transfer.call(buffer, 0),
    "the prototype's transfer(8)": (buffer) => transfer.call(buffer, 8),
    "transferToFixedLength(0)": (buffer) => buffer.transferToFixedLength(0),
    "the prototype's transferToFixedLength(8)": (buffer) => transferToFixedLength.call(buffer, 8),
  }),
};

async function taken(pending, arrays, take) {
  for (const array of arrays) take(array.buffer);
  gc();
  await later();
  gc();
  return pending;
}

async function main() {
  const done = (way, number) => console.log(`${way}: ${number.toFixed(4)}`);
  for (const [way, take] of Object.entries(takings)) {
    const [logits, targets, logProbs] = [new Float32Array(BYTES / 4), new Int32Array(ROWS), new Float32Array(ROWS)];
    const call = logprobAsync(logits, targets, { shape: [ROWS, VOCAB], backend: "cpu", out: { logProbs } });
    const { entropies } = await taken(call, [logits, targets, logProbs], take);
    done(`inputs and an output, ${way}`, entropies[ROWS - 1]);
  }

  // A module's memory detaches its buffer when it grows, and goes with the module.
  let memory = new WebAssembly.Memory({ initial: BYTES / 65_536, maximum: 2 * (BYTES / 65_536) });
  const call = logprobAsync(new Float32Array(memory.buffer, 0, ROWS * VOCAB), null, {
    shape: [ROWS, VOCAB],
    backend: "cpu",
  });
  const grow = () => {
    memory.grow(1);
    memory = undefined;
  };
  done("a WebAssembly memory that grows", (await taken(call, [memory], grow)).entropies[ROWS - 1]);

  // Results go to the memory that they were asked for, wherever that lies.
  const other = new WebAssembly.Memory({ initial: 1 });
  const entropies = new Float32Array(other.buffer, 64, 2);
  await logprobAsync(new Float32Array(2 * 100), null, { shape: [2, 100], backend: "cpu", out: { entropies } });
  done("results in a WebAssembly memory", new Float32Array(other.buffer)[17]);
  const logits = new Float32Array(other.buffer, 1024, 4);
  const options = { shape: [1, 4], backend: "cpu", gradLogProbs: Float32Array.of(1), out: logits };
  const state = logprob(logits, [1], { shape: [1, 4], backend: "cpu" });
  await logprobBackwardAsync(logits, [1], state, options);
  done("a gradient in place in a WebAssembly memory", new Float32Array(other.buffer)[257]);

  if (backendInfo().backends.find(({ name }) => name === "emulated")?.available)
    for (const [way, take] of Object.entries(takings)) {
      const onDevice = toDevice(new Float32Array(BYTES / 4).fill(3), { backend: "emulated" });
      const out = new Float32Array(BYTES / 4);
      await taken(onDevice.readAsync(out), [out], take);
      done(`read from a device, ${way}`, 3);
      onDevice.dispose();
    }
}

void main();
