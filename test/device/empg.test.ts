// EMPG from ids to modulated advantages without a word from the device in between.
import { createStream, deviceStream, empgAdvantage, toDevice } from "../../lib";
import { eachDeviceBackend } from "../support/each-device";
import { rng } from "../support/rng";

const B = 40;
const T = 50;
const n = B * T;
const random = rng(5);
const tokens = random.i32(n, 0, 9);
const entropies = random.f32(n, 0, 3);
const mask = random.mask(n, 0.8);
const rowAdvantages = random.normal(B);
const lengths = random.i32(B, 0, T + 1);
const options = { start: [[1], [3, 4]], end: [2], head: [7], zeta: 0.3, k: 1.2 } as const;

eachDeviceBackend((backend) => {
  const batch = { tokens, entropies, rowAdvantages, mask, lengths, shape: [B, T] as const };
  const send = (array: Float32Array | Float64Array) => toDevice(array, { backend });
  const there = () => ({
    shape: batch.shape,
    tokens: toDevice(tokens, { backend }),
    entropies: send(entropies),
    rowAdvantages: send(rowAdvantages),
    mask: toDevice(mask, { backend }),
    lengths: toDevice(lengths, { backend }),
  });

  test("has the bits of the host call, and reads nothing on the way", () => {
    const { runtime } = deviceStream({ backend });
    const waits = [jest.spyOn(runtime, "read"), jest.spyOn(runtime, "readAsync"), jest.spyOn(runtime, "sync")];
    const found = empgAdvantage(there(), options);
    expect(waits.map((wait) => wait.mock.calls.length)).toEqual([0, 0, 0]);
    waits.forEach((wait) => wait.mockRestore());

    const expected = empgAdvantage(batch, { ...options, backend });
    const steps = found.spans.read();
    expect(steps.spans).toEqual(expected.spans);
    expect(steps.count).toBeGreaterThan(50);
    const perStep = ["stepEntropies", "entropyNorms", "scales", "clarities"] as const;
    for (const name of perStep) {
      const read = found[name].read();
      expect(read.subarray(0, steps.count)).toEqual(expected[name]);
      expect(read.subarray(steps.count).every((value) => value === 0)).toBe(true);
    }
    expect(found.advantages.read()).toEqual(expected.advantages);
    expect(found.mean.read()[0]).toBe(expected.mean);
  });

  test("is recorded once, and repeated on other numbers with the bits of the call", () => {
    using stream = createStream({ backend });
    const place = { stream };
    const arrays = {
      tokens: toDevice(tokens, place),
      entropies: toDevice(entropies, place),
      rowAdvantages: toDevice(rowAdvantages, place),
      mask: toDevice(mask, place),
      lengths: toDevice(lengths, place),
    };
    const run = () => empgAdvantage({ ...arrays, shape: batch.shape }, { ...options, stream });
    run(); // beside the recording, to be seen apart from it
    using graph = stream.capture(run);
    for (const seed of [6, 7, 8]) {
      const r = rng(seed);
      arrays.tokens.write(seed === 8 ? new Int32Array(n) : r.i32(n, 0, 9)); // at last none with a step
      arrays.entropies.write(r.f32(n, 0, 3));
      arrays.rowAdvantages.write(r.normal(B));
      arrays.mask.write(r.mask(n, 0.6));
      arrays.lengths.write(r.i32(B, 0, T + 1));
      graph.launch();
      const eager = run();
      const perStep = ["stepEntropies", "entropyNorms", "scales", "clarities", "mean", "advantages"] as const;
      for (const name of perStep) expect(graph.result[name].read()).toEqual(eager[name].read());
      expect(graph.result.spans.read()).toEqual(eager.spans.read());
      expect(eager.spans.read().count > 0).toBe(seed !== 8);
    }
  });

  test("takes advantages per token, and writes into their memory", () => {
    const advantages = random.f64(n, -1, 1);
    const { rowAdvantages: _, ...rest } = batch;
    const expected = empgAdvantage({ ...rest, advantages }, { ...options, scope: "segments", backend });
    const { rowAdvantages: __, ...sent } = there();
    const own = send(advantages);
    const found = empgAdvantage(
      { ...sent, advantages: own },
      { ...options, scope: "segments", out: { advantages: own } },
    );
    expect(found.advantages).toBe(own);
    expect(own.read()).toEqual(expected.advantages);
  });

  test("leaves advantages alone where there is no step", () => {
    const found = empgAdvantage(there(), { ...options, start: [100], head: null });
    expect(found.spans.read().count).toBe(0);
    expect(found.mean.read()).toEqual(Float64Array.of(0));
  });

  test("wants lengths under a mask that it cannot see", () => {
    const { lengths: _, ...rest } = there();
    expect(() => empgAdvantage(rest, options)).toThrow(/lengths is undefined, expected the valid tokens/);
  });

  test("tells at the next read of a step whose entropy is not finite", () => {
    const bad = Float32Array.from(entropies, (entropy, i) => (i % 7 === 0 ? NaN : entropy));
    const poisoned = () => ({ ...there(), entropies: send(bad) });
    expect(() => empgAdvantage(poisoned(), options).advantages.read()).toThrow(/not finite|finite number/);
    expect(empgAdvantage(poisoned(), { ...options, nonFinite: "propagate" }).mean.read()[0]).toBeNaN();
  });

  test("tells at the next read that there were more steps than room", () => {
    const run = () => empgAdvantage(there(), { ...options, capacity: 3 });
    expect(() => run().advantages.read()).toThrow(/room/);
    const { spans } = empgAdvantage(there(), { ...options, capacity: 3, nonFinite: "propagate" });
    expect(() => spans.read()).toThrow(/room/);
  });
});
