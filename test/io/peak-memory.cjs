// Run by peak-memory.test.ts in a process of its own: `node peak-memory.cjs DIST FILE…`. Reads the tensors of each file, and prints for
// each how many bytes the process had beyond what it had before, at most, for each byte of the tensors.
"use strict";

const { readTensors } = require(`${process.argv[2]}/io`);

/** The most memory that the process had until now, in bytes. */
const peak = () => process.resourceUsage().maxRSS * 1024;

async function main() {
  const [small, ...files] = process.argv.slice(3);
  await readTensors(small);
  for (const file of files) {
    const before = peak();
    const { tensors } = await readTensors(file);
    const bytes = Object.values(tensors).reduce((sum, { data }) => sum + data.byteLength, 0);
    console.log((peak() - before) / bytes);
  }
}

void main();
