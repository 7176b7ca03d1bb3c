// Arrays on a device as the addon gives them out: order, lifetime, and refusals of what TypeScript would not ask.
import { setImmediate as turn } from "node:timers/promises";
import { runInNewContext } from "node:vm";
import { setFlagsFromString } from "node:v8";

import { nativeAddon } from "../../lib/backend/addon";
import type { Backend, BackendDevice } from "../../lib/backend/backend";
import type { DeviceHandle } from "../../lib/core/device-runtime";
import { probe } from "../../lib/backend/probe";
import type { ErrorCode } from "../../lib/core/errors";

const FLOAT32 = 1;
const INT32 = 5;
const UINT8 = 6;

const { backend, status } = probe("emulated", 0);
const why = backend ? "" : ` (skipped: ${status.reason})`;

(backend ? describe : describe.skip)(`arrays on a device, through the binding${why}`, () => {
  const home = backend!;
  const device = backend?.device as BackendDevice;

  const upload = (values: readonly number[], on = device): DeviceHandle => {
    const handle = on.alloc(4 * values.length, FLOAT32);
    on.write(handle, Float32Array.from(values));
    return handle;
  };
  const download = (handle: DeviceHandle, length: number, on = device): number[] => {
    const out = new Float32Array(length);
    on.read(handle, out);
    return [...out];
  };
  /** Sums from each element to the end. */
  const sums = (on: Backend, rewards: unknown, returns: unknown, n = 4, change: object = {}): void => {
    const rest = { gammas: null, mask: null, bootstrap: null, offsets: null, maskMode: 0, transformMasked: 0 };
    const args = { dtype: FLOAT32, rewards, ...rest, n, B: 1, T: n, gamma: 1, returns, ...change };
    (on.ops.scanReturns as (args: unknown) => void)(args);
  };
  const refused = (call: () => unknown, code: ErrorCode, text: RegExp): void => {
    expect(call).toThrow(expect.objectContaining({ code, message: expect.stringMatching(text) as string }) as Error);
  };

  describe("calls with an array on the device", () => {
    test("take host inputs as well, and leave the result there", () => {
      const [on, out] = [upload([1, 2, 3, 4]), device.alloc(16, FLOAT32)];
      sums(home, on, out);
      expect(download(out, 4)).toEqual([10, 9, 7, 4]);
      const host = Float32Array.of(1, 1, 1, 1);
      sums(home, host, out);
      host.fill(50); // copied when the call was made
      expect(download(out, 4)).toEqual([4, 3, 2, 1]);
    });

    test("are chained without a wait, and give a bad id at the next read, which then writes nothing", () => {
      const [a, b] = [device.alloc(16, FLOAT32), device.alloc(16, FLOAT32)];
      sums(home, Float32Array.of(1, 0, 0, 0), a);
      sums(home, a, b);
      expect(download(b, 4)).toEqual([1, 0, 0, 0]);
      sums(home, a, b, 4, { offsets: Int32Array.of(0, 9), T: 0 });
      const out = new Float32Array(4).fill(-1);
      refused(() => device.read(b, out), "ERR_SURPRISAL_RANGE", /offsets go down or past the end/);
      expect([...out]).toEqual([-1, -1, -1, -1]);
      device.sync(); // once
    });

    const releasedOutput = (out: DeviceHandle): void => {
      device.release(out);
      sums(home, upload([1, 2, 3, 4]), out);
    };
    test.each<[string, (out: DeviceHandle) => unknown, ErrorCode, RegExp]>([
      [
        "an output in host memory",
        () => sums(home, upload([1, 2, 3, 4]), new Float32Array(4)),
        "ERR_SURPRISAL_OPTION",
        /returns is in host memory/,
      ],
      [
        "too short",
        (out) => sums(home, upload([1, 2]), out),
        "ERR_SURPRISAL_SHAPE",
        /rewards has 2 elements, expected 4/,
      ],
      [
        "another dtype",
        (out) => sums(home, device.alloc(16, INT32), out),
        "ERR_SURPRISAL_DTYPE",
        /rewards has another element type/,
      ],
      ["released", releasedOutput, "ERR_SURPRISAL_OPTION", /returns was released/],
      [
        "an overlap",
        (out) => sums(home, device.view(out, 0, 12, FLOAT32), device.view(out, 4, 12, FLOAT32), 3),
        "ERR_SURPRISAL_OPTION",
        /returns overlaps rewards/,
      ],
      ["an object that is none", (out) => sums(home, {}, out), "ERR_SURPRISAL_DTYPE", /rewards is not a typed array/],
      [
        "the prototype of one",
        (out) => sums(home, Object.create(out), out),
        "ERR_SURPRISAL_DTYPE",
        /rewards is not a typed array/,
      ],
    ])("refuse %s", (_, call, code, text) => {
      const out = device.alloc(16, FLOAT32);
      refused(() => call(out), code, text);
      device.sync();
    });

    test("are refused by the cpu backend and off the event loop", async () => {
      const cpu = probe("cpu", 0).backend!;
      const [on, out] = [upload([1, 2, 3, 4]), device.alloc(16, FLOAT32)];
      refused(() => sums(cpu, on, out), "ERR_SURPRISAL_OPTION", /lies on a device/);
      const args = {
        dtype: FLOAT32,
        rewards: on,
        gammas: null,
        mask: null,
        bootstrap: null,
        offsets: null,
        n: 4,
        B: 1,
        T: 4,
        gamma: 1,
        maskMode: 0,
        transformMasked: 0,
        returns: out,
      };
      await expect(home.runAsync("scanReturns", args as never)).rejects.toMatchObject({
        code: "ERR_SURPRISAL_OPTION",
        message: expect.stringContaining("lies on a device") as string,
      });
    });
  });

  describe("memory", () => {
    test("views share it, and keep it when the array is released", () => {
      const whole = upload([1, 2, 3, 4]);
      const part = device.view(whole, 8, 8, FLOAT32);
      device.write(part, Float32Array.of(7, 8));
      expect(download(whole, 4)).toEqual([1, 2, 7, 8]);
      const { inUse } = device.memoryStats();
      device.release(whole);
      device.release(whole);
      expect(device.memoryStats().inUse).toBe(inUse);
      expect(download(part, 2)).toEqual([7, 8]);
      device.release(part);
      expect(device.memoryStats().inUse).toBeLessThan(inUse);
      refused(() => device.read(part, new Float32Array(2)), "ERR_SURPRISAL_OPTION", /was released/);
      refused(() => device.view(whole, 0, 4, FLOAT32), "ERR_SURPRISAL_OPTION", /was released/);
    });

    test("goes back when nobody holds the array any more", async () => {
      setFlagsFromString("--expose-gc");
      const collect = runInNewContext("gc") as () => void;
      const before = device.memoryStats().inUse;
      for (let i = 0; i < 50; ++i) upload([i, i, i, i]);
      expect(device.memoryStats().inUse).toBeGreaterThan(before);
      // Without end where nothing is collected.
      while (device.memoryStats().inUse > before) {
        collect();
        await turn();
      }
    });

    test.each<[string, (handle: DeviceHandle) => unknown, ErrorCode, RegExp]>([
      [
        "a view past the end",
        (h) => device.view(h, 8, 12, FLOAT32),
        "ERR_SURPRISAL_SHAPE",
        /bytes 8 to 20 of an array of 16/,
      ],
      [
        "a view between elements",
        (h) => device.view(h, 2, 4, FLOAT32),
        "ERR_SURPRISAL_SHAPE",
        /not the beginning of an element/,
      ],
      [
        "half an element",
        (h) => device.view(h, 0, 6, FLOAT32),
        "ERR_SURPRISAL_SHAPE",
        /not a whole number of elements/,
      ],
      ["an unknown dtype", () => device.alloc(8, 99 as never), "ERR_SURPRISAL_DTYPE", /no dtype has the number 99/],
      ["a negative size", () => device.alloc(-8, FLOAT32), "ERR_SURPRISAL_OPTION", /expected an integer, 0 or more/],
      [
        "a read of another length",
        (h) => device.read(h, new Float32Array(3)),
        "ERR_SURPRISAL_SHAPE",
        /12 bytes, the one on the device 16/,
      ],
      [
        "a read of another type",
        (h) => device.read(h, new Int32Array(4)),
        "ERR_SURPRISAL_DTYPE",
        /another element type/,
      ],
      ["a copy of another length", (h) => device.copy(h, upload([1])), "ERR_SURPRISAL_SHAPE", /16 bytes, the other 4/],
      [
        "a copy within itself",
        (h) => device.copy(device.view(h, 0, 8, FLOAT32), device.view(h, 4, 8, FLOAT32)),
        "ERR_SURPRISAL_OPTION",
        /overlap/,
      ],
      [
        "a pointer to nowhere",
        () => device.fromPointer(4096n, 16, FLOAT32),
        "ERR_SURPRISAL_OPTION",
        /no memory that the device knows/,
      ],
      [
        "an odd pointer",
        (h) => device.fromPointer(device.pointerOf(h) + 1n, 4, FLOAT32),
        "ERR_SURPRISAL_OPTION",
        /not that of an element/,
      ],
      [
        "memory beside other memory for another process",
        (h) => device.exportMemory(h),
        "ERR_SURPRISAL_OPTION",
        /shared: true/,
      ],
      [
        "another process",
        () => device.exportMemory(device.alloc(4, FLOAT32, true)),
        "ERR_SURPRISAL_BACKEND_UNAVAILABLE",
        /ipc_export: .*not supported/,
      ],
      [
        "more than there is",
        () => device.alloc(2 ** 50, FLOAT32),
        "ERR_SURPRISAL_OUT_OF_MEMORY",
        /out of memory on device 0/,
      ],
    ])("refuses %s", (_, call, code, text) => {
      const handle = upload([1, 2, 3, 4]);
      refused(() => call(handle), code, text);
      expect(download(handle, 4)).toEqual([1, 2, 3, 4]);
    });

    test("of others is used by its address", () => {
      const handle = upload([1, 2, 3, 4]);
      const same = device.fromPointer(device.pointerOf(handle) + 4n, 8, FLOAT32);
      expect(download(same, 2)).toEqual([2, 3]);
      device.release(same); // not ours to free
      expect(download(handle, 4)).toEqual([1, 2, 3, 4]);
    });

    test("keeps to a limit, and host calls of independent rows are cut until they fit", () => {
      const [N, V] = [64, 1024];
      const logits = Float32Array.from({ length: N * V }, (_, i) => Math.sin(i));
      const call = (): Float32Array[] => {
        const [logProbs, gradLogits] = [new Float32Array(N), new Float32Array(N * V)];
        const targets = Int32Array.from({ length: N }, (_, i) => (i * 37) % V);
        const scalars = { dtype: FLOAT32, N, V, stride: V, K: 1, temperature: 1, scale: 1, softcap: 0 };
        const [maxLogits, log1pSums] = [new Float32Array(N), new Float32Array(N)];
        const none = { mask: null, entropies: null, logSumExps: null, meanGaps: null, sumSquares: null };
        home.ops.logprobForward({ ...scalars, ...none, logits, targets, logProbs, maxLogits, log1pSums } as never);
        const ones = new Float32Array(N).fill(1);
        home.ops.logprobBackward({
          ...scalars,
          mask: null,
          vocabStart: 0,
          vocabSize: V,
          logits,
          targets,
          maxLogits,
          log1pSums,
          meanGaps: null,
          gradLogProbs: ones,
          gradEntropies: null,
          gradLogits,
        } as never);
        return [logProbs, gradLogits];
      };
      const whole = call();
      device.trimMemory();
      const { reserved } = device.memoryStats();
      device.limitMemory(reserved + (N * V * 4) / 2);
      try {
        const cut = call();
        const worst = whole.map((array, i) =>
          array.reduce((most, value, j) => Math.max(most, Math.abs(value - cut[i]![j]!)), 0),
        );
        expect(Math.max(...worst)).toBeLessThan(1e-5);
        expect(device.memoryStats().reserved).toBeLessThanOrEqual(reserved + (N * V * 4) / 2);
        device.limitMemory(reserved + 4096);
        refused(call, "ERR_SURPRISAL_OUT_OF_MEMORY", /logprobForward: out of memory on device 0: .* limit/);
      } finally {
        device.limitMemory(0);
      }
      expect(call().map((array, i) => array.join() === whole[i]!.join())).toEqual([true, true]);
    });
  });

  describe("streams", () => {
    test("a use on another stream waits for the last one", () => {
      const other = home.device!.openStream();
      const n = 1 << 14;
      const values = Array.from({ length: n }, () => 1);
      for (let round = 0; round < 10; ++round) {
        const [a, b, c] = [upload(values), device.alloc(4 * n, FLOAT32), device.alloc(4 * n, FLOAT32)];
        sums(home, a, b, n);
        sums(other, b, c, n);
        device.write(b, new Float32Array(n)); // behind the read on the other stream
        expect(download(c, n, other.device)[0]).toBe((n * (n + 1)) / 2);
        expect(download(b, n)[0]).toBe(0);
        for (const handle of [a, b, c]) device.release(handle);
      }
      other.device!.close();
      refused(() => other.device!.sync(), "ERR_SURPRISAL_OPTION", /the stream was closed/);
    });

    test("arrays of a closed stream go on elsewhere", () => {
      const other = home.device!.openStream();
      const handle = upload([1, 2, 3, 4], other.device);
      other.device!.close();
      expect(download(handle, 4)).toEqual([1, 2, 3, 4]);
    });

    test("reads off the event loop carry the array as it was", async () => {
      const handle = upload([1, 2, 3, 4]);
      const [before, later] = [new Float32Array(4), new Float32Array(4)];
      const first = device.readAsync(handle, before);
      device.write(handle, Float32Array.of(5, 6, 7, 8));
      const second = device.readAsync(handle, later);
      device.release(handle);
      await Promise.all([first, second, device.syncAsync()]);
      expect([[...before], [...later]]).toEqual([
        [1, 2, 3, 4],
        [5, 6, 7, 8],
      ]);
      device.sync(); // the array itself is freed behind the last read
      expect(device.done()).toBe(true);
      sums(home, upload([1, 2, 3, 4]), device.alloc(16, FLOAT32), 4, { offsets: Int32Array.of(0, 9), T: 0 });
      await expect(device.syncAsync()).rejects.toMatchObject({ code: "ERR_SURPRISAL_RANGE" });
      await device.syncAsync();
      await expect(device.readAsync(handle, before)).rejects.toMatchObject({ code: "ERR_SURPRISAL_OPTION" });
    });

    test("events order and measure", () => {
      const other = home.device!.openStream().device!;
      const first = device.recordEvent();
      other.waitEvent(first);
      const second = other.recordEvent();
      other.syncEvent(second);
      expect([device.eventDone(first), other.eventDone(second)]).toEqual([true, true]);
      expect(other.eventElapsed(first, second)).toBeGreaterThanOrEqual(0);
      refused(() => device.waitEvent({} as never), "ERR_SURPRISAL_OPTION", /not an event/);
      other.close();
    });
  });

  describe("recorded work", () => {
    test("runs at each launch, on any stream, with what its arrays hold by then", () => {
      const [input, out] = [upload([1, 2, 3, 4]), upload([0, 0, 0, 0])];
      device.beginCapture();
      const between = device.alloc(16, FLOAT32);
      sums(home, input, between);
      sums(home, between, out);
      device.release(between);
      const graph = device.endCapture();
      expect(download(out, 4)).toEqual([0, 0, 0, 0]);
      device.launch(graph);
      expect(download(out, 4)).toEqual([30, 20, 11, 4]);
      const other = home.device!.openStream();
      other.device!.write(input, Float32Array.of(1, 0, 0, 0));
      other.device!.launch(graph);
      expect(download(out, 4)).toEqual([1, 0, 0, 0]);
      device.release(input); // the graph keeps it
      device.write(out, new Float32Array(4));
      device.launch(graph);
      expect(download(out, 4)).toEqual([1, 0, 0, 0]);
      device.releaseGraph(graph);
      device.releaseGraph(graph);
      refused(() => device.launch(graph), "ERR_SURPRISAL_OPTION", /the graph was released/);
      other.device!.close();
    });

    test("refuses what would have to wait, and goes on", () => {
      const other = home.device!.openStream();
      const [input, out] = [upload([1, 2, 3, 4]), device.alloc(16, FLOAT32)];
      device.beginCapture();
      const made = device.alloc(16, FLOAT32);
      refused(() => device.read(input, new Float32Array(4)), "ERR_SURPRISAL_OPTION", /end the capture first/);
      refused(() => device.sync(), "ERR_SURPRISAL_OPTION", /end the capture first/);
      refused(
        () => sums(home, Float32Array.of(1, 2, 3, 4), new Float32Array(4)),
        "ERR_SURPRISAL_OPTION",
        /the stream is being captured/,
      );
      refused(() => device.beginCapture(), "ERR_SURPRISAL_OPTION", /end the capture first/);
      refused(
        () => other.device!.read(made, new Float32Array(4)),
        "ERR_SURPRISAL_OPTION",
        /being captured; end the capture/,
      );
      expect(download(input, 4, other.device)).toEqual([1, 2, 3, 4]); // of before the capture
      sums(home, Float32Array.of(1, 1, 1, 1), out);
      const graph = device.endCapture();
      device.launch(graph);
      expect(download(out, 4)).toEqual([4, 3, 2, 1]);
      device.releaseGraph(graph);
      refused(() => device.endCapture(), "ERR_SURPRISAL_OPTION", /not being captured/);
      other.device!.close();
    });
  });

  test("a session of host memory has none of this", () => {
    const native = nativeAddon();
    if ("reason" in native) throw new Error(native.reason);
    const { addon } = native;
    expect(addon.deviceAlloc(addon.openCpu(), 8, UINT8)).toBe(8);
    expect(addon.lastError()).toBe("the cpu backend has no memory of its own");
    expect(addon.deviceAlloc(1e6, 8, UINT8)).toBe(1);
    expect(addon.openStream(-1)).toBe("no such backend session: -1");
  });
});
