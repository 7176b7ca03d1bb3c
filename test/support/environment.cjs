"use strict";

// Jest runs each test file in a realm of its own, while native code and Node's own modules make
// their objects in the host realm. Without this, `x instanceof Float32Array` is false for an array
// from the addon, and `toThrow(TypeError)` fails for an error from Node.
// The intrinsics below are therefore the host's in every test.

const { TestEnvironment } = require("jest-environment-node");

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

module.exports = class extends TestEnvironment {
  constructor(config, context) {
    super(config, context);
    for (const name of SHARED_INTRINSICS) {
      if (name in globalThis) this.global[name] = globalThis[name];
    }
  }
};
