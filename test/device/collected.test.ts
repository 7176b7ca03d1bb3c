// Arrays that nobody disposes of give their memory back when they are collected.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { setImmediate as turn } from "node:timers/promises";

import { createStream, deviceStream, memoryStats, prefixSums, toDevice } from "../../lib";
import { eachDeviceBackend } from "../support/each-device";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

eachDeviceBackend((backend) => {
  const place = { backend } as const;

  function forget(): number {
    const stream = createStream(place);
    for (let i = 0; i < 50; ++i)
      prefixSums(toDevice(new Float32Array(1000), { stream }), { shape: [1, 1000] }).view(10);
    stream.dispose();
    return memoryStats(place).inUse;
  }

  test("forgotten arrays and views", async () => {
    deviceStream(place).sync();
    const before = memoryStats(place).inUse;
    const most = forget();
    expect(most - before).toBeGreaterThan(50 * 4000);
    // Less where something of before is collected, too. Without end where nothing is.
    while (memoryStats(place).inUse > before) {
      collect();
      await turn();
    }
  });
});
