// What the compiler makes of calls on devices: results are where the first array is. tsc checks this file; jest sees that it runs.
import {
  affine,
  type DeviceArray,
  type DeviceFloatArray,
  gae,
  logprob,
  logprobBackward,
  modulateSpans,
  moments,
  toDevice,
  tokenLoss,
} from "../../lib";
import { eachDeviceBackend } from "../support/each-device";

/** Compiles where a value has exactly this type. */
const typed =
  <Expected>(): (<Actual>(
    value: Actual,
    ...same: [Expected] extends [Actual] ? ([Actual] extends [Expected] ? [] : [never]) : [never]
  ) => void) =>
  () =>
    undefined;

eachDeviceBackend((backend) => {
  const host = Float32Array.of(1, 2, 3, 4);
  const there = toDevice(host, { backend });
  const layout = { shape: [2, 2] as const, gamma: 1, lambda: 1 };

  test("host arrays give host arrays, as they always have", () => {
    const { advantages } = gae(host, host, layout);
    typed<Float32Array>()(advantages);
    expect(advantages).toBeInstanceOf(Float32Array);
  });

  test("device arrays give device arrays, of the types that the host has", () => {
    typed<DeviceArray<"float32">>()(there);
    const { advantages } = gae(there, host, { ...layout, mask: toDevice(Uint8Array.of(1, 1, 1, 1), { backend }) });
    typed<DeviceFloatArray>()(affine(advantages, { shape: [2, 2], scale: 2 }));
    const state = logprob(toDevice(host, { backend, shape: [2, 2] }), Int32Array.of(0, 1));
    typed<DeviceArray<"float32">>()(state.logProbs);
    const bits = toDevice(Uint16Array.of(1, 2), { backend, dtype: "bfloat16", shape: [1, 2] });
    typed<DeviceArray<"bfloat16">>()(
      logprobBackward(bits, null, logprob(bits, null), { gradEntropies: Float32Array.of(1) }),
    );
    expect(moments(there).read().counts).toEqual(Float64Array.of(4));
  });

  test("numbers become arrays of one, and sums a summary", () => {
    const spans = Int32Array.of(0, 0, 2);
    const { mean } = modulateSpans(there, spans, {
      shape: [2, 2],
      scope: "all",
      scales: Float64Array.of(1),
      clarities: Float64Array.of(1),
    });
    typed<DeviceArray<"float64">>()(mean);
    const loss = tokenLoss({ form: "linear", logProbs: there, advantages: host, shape: [2, 2] });
    typed<number>()(loss.summary.read().total);
    // @ts-expect-error the total is in the summary
    expect(loss.total).toBeUndefined();
  });

  test("an output in host memory does not compile, nor does a mask of floats", () => {
    // @ts-expect-error results of DeviceArrays stay on the device
    expect(() => gae(there, there, { ...layout, out: { returns: new Float32Array(4) } })).toThrow(/out\.returns/);
    // @ts-expect-error flags are uint8
    expect(() => gae(there, there, { ...layout, mask: there })).toThrow(/mask/);
  });
});
