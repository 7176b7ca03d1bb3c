"use strict";

// One of two processes of sharing.test.ts: does what the messages say, and answers each. node sharing-peer.cjs LIBRARY
const lib = require(process.argv[2]);

const place = { backend: "emulated" };
const LENGTH = 4096;
const BEGIN = 1000;
let shared;
let stream;

const commands = {
  // Work is asked for and the handle goes out at once: nothing here waits but toIpcHandle.
  export() {
    stream = lib.createStream(place);
    const ones = lib.toDevice(new Float32Array(LENGTH).fill(1), { stream });
    const sums = lib.deviceEmpty("float32", LENGTH, { stream, shared: true });
    shared = lib.prefixSums(ones, { shape: [1, LENGTH], out: { sums } }).view(BEGIN);
    return lib.toIpcHandle(shared);
  },
  // On a stream of its own, which is not the array's.
  exportFromOther() {
    const other = lib.createStream(place);
    const array = lib.deviceEmpty("float32", LENGTH, { ...place, shared: true });
    lib.prefixSums(lib.toDevice(new Float32Array(LENGTH).fill(2), { stream: other }), {
      shape: [1, LENGTH],
      stream: other,
      out: { sums: array },
    });
    shared = array;
    return lib.toIpcHandle(array);
  },
  exportFault() {
    const logits = lib.toDevice(new Float32Array(6), { ...place, shape: [2, 3] });
    const { logProbs } = lib.logprob(logits, lib.toDevice(Int32Array.of(1, 7), place));
    const sent = lib.deviceEmpty("float32", 2, { ...place, shared: true }).copyFrom(logProbs);
    return lib.toIpcHandle(sent);
  },
  // Beside another array in one piece of memory.
  exportPart: () => lib.toIpcHandle(lib.toDevice(new Float32Array(4), place)),
  read: () => shared.read(),
  done: () => stream.done,
  dispose: () => void shared.dispose(),
  open(handle) {
    shared = lib.fromIpcHandle(handle, place);
    return shared.read();
  },
  double() {
    shared.copyFrom(lib.affine(shared, { shape: [1, shared.length], scale: 2 }));
    shared.stream.sync();
  },
};

process.on("message", ({ command, value }) => {
  try {
    process.send({ value: commands[command](value) });
  } catch (error) {
    process.send({ error: { code: error.code, message: error.message } });
  }
});
