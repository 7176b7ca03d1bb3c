// Memory that an op takes for itself while it is captured belongs to the graph, and goes back with it.
import { createStream, deviceEmpty, memoryStats, prefixSums, toDevice } from "../../lib";
import { eachDeviceBackend } from "../support/each-device";
import { rng } from "../support/rng";

const N = 60_000; // in strips, whose sums need memory

eachDeviceBackend((backend) => {
  test("a graph that is disposed of leaves no memory in use, and one op after another takes the same", () => {
    const stream = createStream({ backend });
    const values = toDevice(rng(1).f32(N), { stream });
    const out = { sums: deviceEmpty("float32", [N], { stream }) };
    const add = () => prefixSums(values, { shape: [1, N], out });
    add();
    const before = memoryStats({ backend }).inUse;
    const usedBy = (work: () => void) => {
      const graph = stream.capture(work);
      graph.launch();
      stream.sync();
      const used = memoryStats({ backend }).inUse - before;
      graph.dispose();
      return used;
    };
    const once = usedBy(add);
    expect(once).toBeGreaterThan(0);
    expect(memoryStats({ backend }).inUse).toBe(before);
    const twice = usedBy(() => {
      add();
      add();
    });
    expect(twice).toBe(once);
    expect(memoryStats({ backend }).inUse).toBe(before);
    stream.dispose();
  });
});
