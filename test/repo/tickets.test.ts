// What one block stores and another reads in the same launch is seen only through fences around a ticket. No run can show that one is
// missing: the emulated device has one memory, and a card may keep the order for years. So there is one function for it.
import { read, repositoryFiles } from "./rules/files";

const TICKET = /atomicAdd\([^;]*\)\s*==\s*[^;]*-\s*1/;

test("blocks find out which of them comes last by comes_last() alone", () => {
  const sources = repositoryFiles().filter((path) => /^native\/cuda\/.*\.cuh?$/.test(path));
  expect(sources.filter((path) => TICKET.test(read(path)))).toEqual(["native/cuda/comes_last.cuh"]);
});

test("comes_last() has its fences: behind a block's stores, and ahead of the last one's loads", () => {
  const text = read("native/cuda/comes_last.cuh");
  const steps = [...text.matchAll(/__threadfence|__syncthreads|atomicAdd|atomicExch/g)].map(([step]) => step);
  expect(steps).toEqual([
    "__threadfence", // by every thread
    "__syncthreads",
    "atomicAdd",
    "atomicExch",
    "__syncthreads",
    "__threadfence",
  ]);
});
