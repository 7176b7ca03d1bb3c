// What a call returns is its own: no later call writes into it.
import { CASES } from "../support/device-cases";
import { eachBackend } from "../support/each-backend";

/** The memory of all arrays in a result. */
function memoryOf(result: unknown): ArrayBufferLike[] {
  if (ArrayBuffer.isView(result)) return [result.buffer];
  return typeof result === "object" && result !== null ? Object.values(result).flatMap(memoryOf) : [];
}

eachBackend((backend) => {
  test.each(CASES)("$title: two calls return arrays in memory apart", ({ run }) => {
    const inputs = new Set<ArrayBufferLike>();
    const send = (array: ArrayBufferView): ArrayBufferView => {
      inputs.add(array.buffer);
      return array;
    };
    const call = () => memoryOf(run(send as never, backend as never));
    const first = new Set(call());
    expect(call().filter((memory) => first.has(memory) && !inputs.has(memory))).toEqual([]);
  });
});
