// How much of a device a process may take, and addresses that go to another library and come back.
import { deviceEmpty, fromPointer, memoryStats, setMemoryLimit, toDevice, toPointer } from "../../lib";
import { eachDeviceBackend } from "../support/each-device";

eachDeviceBackend((backend) => {
  afterEach(() => setMemoryLimit(Infinity, { backend }));

  test("a limit of memory refuses what goes past it, until it is taken back", () => {
    const large = new Float32Array(1 << 20);
    // What another test of this process left to the garbage collector still counts, and may go at any time.
    const limit = memoryStats({ backend }).reserved + (1 << 20);
    setMemoryLimit(limit, { backend });
    expect(() => deviceEmpty("uint8", [limit + 1], { backend })).toThrow(
      expect.objectContaining({ code: "ERR_SURPRISAL_OUT_OF_MEMORY" }),
    );
    const small = toDevice(large.subarray(0, 1000), { backend });
    expect(small.read()).toHaveLength(1000);
    small.dispose();
    setMemoryLimit(Infinity, { backend });
    toDevice(large, { backend }).dispose();
  });

  test.each([0, -1, 1.5, NaN, "1"])("a limit of %p is refused", (bytes) => {
    expect(() => setMemoryLimit(bytes as number, { backend })).toThrow(
      expect.objectContaining({ code: "ERR_SURPRISAL_OPTION" }),
    );
  });

  test("an address leads to the same bytes; of an array that was disposed of there is none", () => {
    const array = toDevice(Float32Array.of(1, 2, 3), { backend });
    const pointer = toPointer(array);
    expect(pointer).toBeGreaterThan(0n);
    const view = fromPointer(pointer, { dtype: "float32", shape: [3], backend });
    expect([...view.read()]).toEqual([1, 2, 3]);
    view.dispose();
    expect([...array.read()]).toEqual([1, 2, 3]);
    array.dispose();
    expect(() => toPointer(array)).toThrow(expect.objectContaining({ code: "ERR_SURPRISAL_DISPOSED" }));
  });
});
