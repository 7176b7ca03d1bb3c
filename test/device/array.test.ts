// DeviceArray by itself: what goes in comes out, memory is shared and given back, and misuse is refused by name.
import {
  createStream,
  deviceEmpty,
  deviceStream,
  discountedReturns,
  fromHalfBits,
  gae,
  groupNormalize,
  isDeviceArray,
  logprob,
  logprobAsync,
  memoryStats,
  type SurprisalError,
  toDevice,
  toHalfBits,
  tokenLossFromLogits,
  weightStatistics,
} from "surprisal";
import { eachDeviceBackend } from "../support/each-device";
import { errorCode } from "../support/error-code";

/** A text with these words in it, for toMatchObject. */
const saying = (words: string): string => expect.stringContaining(words) as string;

const facts = (run: () => unknown): { code: string; name: unknown; message: string } => {
  try {
    run();
  } catch (error) {
    const { code, details, message } = error as SurprisalError;
    return { code, name: details.name, message };
  }
  throw new Error("nothing was thrown");
};

eachDeviceBackend((backend) => {
  const place = { backend } as const;
  const values = Float32Array.of(1, -2, 3.5, NaN, 0, 6);

  test("keeps the bits of every type", async () => {
    const arrays = [
      [values, "float32"],
      [Float64Array.of(1e300, -0, NaN), "float64"],
      [Int32Array.of(-5, 7), "int32"],
      [Uint8Array.of(0, 1, 255), "uint8"],
      [Uint16Array.of(0x3c00, 0x7e00), "float16"],
      [Uint16Array.of(0x3f80, 0x7fc0), "bfloat16"],
      [BigInt64Array.of(-1n, 2n ** 60n), "int64"],
    ] as const;
    for (const [array, dtype] of arrays) {
      const there = toDevice(array, { ...place, dtype });
      expect(there).toMatchObject({
        dtype,
        shape: [array.length],
        length: array.length,
        byteLength: array.byteLength,
        backend,
        device: 0,
      });
      expect(there.read()).toEqual(array);
      expect(await there.readAsync()).toEqual(array);
    }
  });

  test("converts on the way, with a range check of ids", () => {
    expect(toDevice(BigInt64Array.of(3n, -4n), place).read()).toEqual(Int32Array.of(3, -4));
    expect(toDevice(Float64Array.of(0.1), { ...place, dtype: "float32" }).read()).toEqual(Float32Array.of(0.1));
    expect(toDevice(Float32Array.of(1), { ...place, dtype: "bfloat16" }).read()).toEqual(Uint16Array.of(0x3f80));
    expect(facts(() => toDevice(BigInt64Array.of(1n, 2n ** 40n), place))).toMatchObject({
      code: "ERR_SURPRISAL_RANGE",
      name: "array[1]",
    });
    expect(facts(() => toDevice(Uint16Array.of(1), place))).toMatchObject({
      code: "ERR_SURPRISAL_DTYPE",
      name: "dtype",
    });
    expect(facts(() => toDevice([1] as never, place))).toMatchObject({ code: "ERR_SURPRISAL_DTYPE", name: "array" });
  });

  test("views of views count from the beginning of the memory, and a size may be 0", () => {
    const whole = toDevice(Float32Array.of(0, 1, 2, 3, 4, 5), place);
    const part = whole.view(2).view(1, 3);
    expect([part.byteOffset, ...part.read()]).toEqual([12, 3, 4]);
    expect(toDevice(new Float32Array(0), { ...place, shape: [0, 3] }).shape).toEqual([0, 3]);
  });

  test("fractions are not cut off on the way to a device", () => {
    for (const dtype of ["int32", "int64", "uint8"] as const)
      expect(() => toDevice(Float32Array.of(0.5), { ...place, dtype })).toThrow(
        `dtype is "${dtype}", expected a type that a Float32Array converts to`,
      );
  });

  test("takes tensors of other libraries, and the memory may change at once", () => {
    const data = Float32Array.of(1, 2, 3, 4);
    const there = toDevice({ data, dims: [2, 2], type: "float32" }, place);
    data.fill(9);
    expect(there.shape).toEqual([2, 2]);
    expect(there.read()).toEqual(Float32Array.of(1, 2, 3, 4));
    expect(facts(() => toDevice(data, { ...place, shape: [3] }))).toMatchObject({
      code: "ERR_SURPRISAL_SHAPE",
      name: "shape",
    });
  });

  test("reads into memory of the caller, and refuses another kind or length", () => {
    const there = toDevice(values, place);
    const out = new Float32Array(6);
    expect(there.read(out)).toBe(out);
    expect(out).toEqual(values);
    expect(facts(() => there.read(new Float32Array(5)))).toMatchObject({
      code: "ERR_SURPRISAL_SHAPE",
      name: "out.length",
    });
    expect(facts(() => there.read(new Float64Array(6) as never))).toMatchObject({
      code: "ERR_SURPRISAL_DTYPE",
      name: "out",
    });
    expect(facts(() => there.write(undefined as never))).toMatchObject({ code: "ERR_SURPRISAL_DTYPE", name: "from" });
  });

  test("views and shapes share memory, which lives as long as one of them", () => {
    const there = toDevice(Int32Array.of(1, 2, 3, 4, 5, 6), place);
    const middle = there.view(2, 5);
    const square = there.reshape([2, 3]);
    expect(middle.read()).toEqual(Int32Array.of(3, 4, 5));
    there.dispose();
    middle.write(Int32Array.of(30, 40, 50));
    expect(square.read()).toEqual(Int32Array.of(1, 2, 30, 40, 50, 6));
    expect(square.shape).toEqual([2, 3]);
    expect(facts(() => square.view(0, 7))).toMatchObject({ code: "ERR_SURPRISAL_SHAPE", name: "end" });
    expect(facts(() => square.reshape([4]))).toMatchObject({ code: "ERR_SURPRISAL_SHAPE", name: "shape" });
  });

  test("copies between arrays of one type and length", () => {
    const from = toDevice(values, place);
    const to = deviceEmpty("float32", [2, 3], place).copyFrom(from);
    from.write(new Float32Array(6));
    expect(to.read()).toEqual(values);
    expect(facts(() => to.copyFrom(from.view(1)))).toMatchObject({ code: "ERR_SURPRISAL_SHAPE" });
    expect(facts(() => to.copyFrom(deviceEmpty("float64", 6, place) as never))).toMatchObject({
      code: "ERR_SURPRISAL_DTYPE",
    });
  });

  test("says so where it is used after it is disposed of", () => {
    const there = toDevice(values, place);
    expect(there.disposed).toBe(false);
    there.dispose();
    there.dispose();
    expect(there.disposed).toBe(true);
    const code = "ERR_SURPRISAL_DISPOSED";
    for (const use of [
      () => there.read(),
      () => there.view(),
      () => there.write(values),
      () => there.copyFrom(toDevice(values, place)),
    ])
      expect(errorCode(use)).toBe(code);
    expect(facts(() => discountedReturns(there, { shape: [2, 3], gamma: 1 }))).toMatchObject({ code, name: "rewards" });
    const stream = createStream(place);
    stream.dispose();
    expect(errorCode(() => stream.sync())).toBe(code);
    expect(errorCode(() => deviceStream(place).dispose())).toBe("ERR_SURPRISAL_OPTION");
  });

  test("refuses what it cannot do, by name", () => {
    const there = toDevice(values, place);
    const wide = toDevice(Float64Array.from(values), place);
    const layout = { shape: [2, 3] as const, gamma: 1, lambda: 1 };
    expect(facts(() => gae(there, wide, layout))).toMatchObject({
      code: "ERR_SURPRISAL_DTYPE",
      name: "rewards",
      message: saying("float64"),
    });
    expect(facts(() => gae(there, toDevice(new Int32Array(6), place) as never, layout))).toMatchObject({
      code: "ERR_SURPRISAL_DTYPE",
      name: "values",
    });
    expect(facts(() => gae(there, there, { ...layout, backend: "cpu" }))).toMatchObject({
      code: "ERR_SURPRISAL_OPTION",
      name: "backend",
    });
    expect(facts(() => gae(there, there, { ...layout, out: { returns: new Float32Array(6) as never } }))).toMatchObject(
      { name: "out.returns" },
    );
    expect(facts(() => gae(there, there, { ...layout, out: { returns: there } }))).toMatchObject({
      code: "ERR_SURPRISAL_BUFFER",
    });
    expect(facts(() => gae(there, there.view(0, 3), layout))).toMatchObject({
      code: "ERR_SURPRISAL_SHAPE",
      name: "values",
    });
    expect(facts(() => gae(values, values, { ...layout, stream: deviceStream(place) } as never))).toMatchObject({
      name: "stream",
    });
    expect(facts(() => groupNormalize(there, { groups: "all", collective: {} as never }))).toMatchObject({
      code: "ERR_SURPRISAL_OPTION",
      name: "collective",
    });
    const sent = () =>
      tokenLossFromLogits(there as never, Int32Array.of(1, 2), {
        form: "linear",
        advantages: Float32Array.of(1, 2),
        shape: [1, 2],
      });
    expect(facts(sent)).toMatchObject({ code: "ERR_SURPRISAL_DTYPE", message: saying("logprobBackward") });
    const bits = toDevice(Uint16Array.of(0x3c00), { ...place, dtype: "float16" });
    expect(facts(() => fromHalfBits(bits as never, "float16"))).toMatchObject({
      code: "ERR_SURPRISAL_DTYPE",
      name: "patterns",
      message: saying("array.read()"),
    });
    expect(facts(() => weightStatistics(there as never, { groups: "all" }))).toMatchObject({
      code: "ERR_SURPRISAL_DTYPE",
      name: "weights",
      message: saying("weightEntropies"),
    });
    expect(facts(() => toHalfBits(there as never, "float16"))).toMatchObject({
      code: "ERR_SURPRISAL_DTYPE",
      name: "values",
    });
  });

  test("refuses asynchronous forms, which have nothing to add", async () => {
    const there = toDevice(values, place);
    await expect(logprobAsync(there as never, null, { shape: [2, 3] })).rejects.toThrow(
      /call logprob, and await readAsync/,
    );
  });

  test("rejects a read whose signal aborts", async () => {
    const there = toDevice(values, place);
    await expect(there.readAsync(undefined, { signal: AbortSignal.abort(new Error("enough")) })).rejects.toThrow(
      "enough",
    );
    const controller = new AbortController();
    const read = there.readAsync(undefined, { signal: controller.signal });
    controller.abort(new Error("enough"));
    await expect(read).rejects.toThrow("enough");
    expect(await there.readAsync(undefined, { signal: new AbortController().signal })).toEqual(values);
  });

  test("a fault of device data is told at the next read, once", () => {
    const logits = toDevice(new Float32Array(6), { ...place, shape: [2, 3] });
    const { logProbs } = logprob(logits, toDevice(Int32Array.of(1, 7), place));
    expect(errorCode(() => logProbs.read())).toBe("ERR_SURPRISAL_RANGE");
    expect(logits.read()).toEqual(new Float32Array(6));
  });

  test("memory goes back when arrays are disposed of", () => {
    deviceStream(place).sync();
    const before = memoryStats(place).inUse;
    for (let round = 0; round < 20; ++round) {
      const there = toDevice(new Float32Array(1000), place);
      const { advantages, returns } = gae(there, there, { shape: [10, 100], gamma: 1, lambda: 1 });
      const part = returns.view(5, 50);
      for (const array of [there, advantages, returns, part]) array.dispose();
    }
    deviceStream(place).sync();
    expect(memoryStats(place).inUse).toBe(before);
  });

  test("knows its own", () => {
    expect([toDevice(values, place), values, null, {}].map(isDeviceArray)).toEqual([true, false, false, false]);
  });
});
