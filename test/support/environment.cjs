"use strict";

// Jest runs each test file in a realm of its own, while native code and Node's own modules make
// their objects in the host realm. Without this, `x instanceof Float32Array` is false for an array
// from the addon, and `toThrow(TypeError)` fails for an error from Node.
// The intrinsics below are therefore the host's in every test.

const { appendFileSync, readFileSync } = require("node:fs");
const { TestEnvironment } = require("jest-environment-node");
const { limitPrograms } = require("./time-limit.cjs");

const SHARED_INTRINSICS = [
  "ArrayBuffer",
  "SharedArrayBuffer",
  "DataView",
  "Int8Array",
  "Uint8Array",
  "Uint8ClampedArray",
  "Int16Array",
  "Uint16Array",
  "Int32Array",
  "Uint32Array",
  "Float16Array", // Node 24 and newer
  "Float32Array",
  "Float64Array",
  "BigInt64Array",
  "BigUint64Array",
  "Error",
  "AggregateError",
  "EvalError",
  "RangeError",
  "ReferenceError",
  "SyntaxError",
  "TypeError",
  "URIError",
];

// With SURPRISAL_TEST_CPU=FILE each suite leaves a line there: seconds of processor time, its own and of processes that have ended, and
// its name. Unlike the time that jest prints it says little about what else ran. Linux tells it, in hundredths.
const TIMES = process.env.SURPRISAL_TEST_CPU;

limitPrograms(require("node:child_process"));

function processorSeconds() {
  const fields = readFileSync("/proc/self/stat", "utf8").split(") ").at(-1).split(" ");
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / 100;
}

module.exports = class extends TestEnvironment {
  constructor(config, context) {
    super(config, context);
    this.suite = context.testPath;
    if (TIMES) this.begin = processorSeconds();
    for (const name of SHARED_INTRINSICS) {
      if (name in globalThis) this.global[name] = globalThis[name];
    }
  }

  async teardown() {
    if (TIMES) appendFileSync(TIMES, `${(processorSeconds() - this.begin).toFixed(2)} ${this.suite}\n`);
    await super.teardown();
  }
};
