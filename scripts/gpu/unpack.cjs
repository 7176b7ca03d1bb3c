// node unpack.cjs FILE | tar -xf -: the tar file that pack.mjs made FILE of.

"use strict";

const { createReadStream } = require("node:fs");
const { pipeline } = require("node:stream/promises");
const { createBrotliDecompress } = require("node:zlib");

pipeline(createReadStream(process.argv[2]), createBrotliDecompress(), process.stdout).catch((error) => {
  console.error(`unpack: ${process.argv[2]}: ${error.message}`);
  process.exitCode = 1;
});
