// Outputs that share memory with an input or with each other are refused, whichever of them the caller gave.
import { groupNormalize, groupPlace, logprob } from "../../lib";
import { refuseOverlap } from "../../lib/core/arrays";
import { thrownBy } from "../support/thrown-by";

function refusal(call: () => unknown): string {
  const { code, message } = thrownBy(call) as { readonly code?: string; readonly message?: string };
  return `${code} ${message}`;
}

const memory = new Float32Array(8);
const [low, high, across] = [memory.subarray(0, 4), memory.subarray(4), memory.subarray(2, 6)];
const apart = new Float32Array(4);

test("an output over an input, in part as well", () => {
  const refused = (): void => refuseOverlap("op", { y: across }, { y: across, z: apart }, { x: low });
  expect(refusal(refused)).toBe("ERR_SURPRISAL_BUFFER op: out.y overlaps x; give it memory of its own");
});

test("two outputs, of which one was given or both", () => {
  const both = (): void => refuseOverlap("op", { y: low, z: across }, { y: low, z: across }, { x: apart });
  expect(refusal(both)).toMatch(/^ERR_SURPRISAL_BUFFER op: out\.[yz] overlaps [yz];/);
  expect(() => refuseOverlap("op", { y: low, z: high }, { y: low, z: high }, { x: apart })).not.toThrow();
});

test("the one output of a function that has one", () => {
  expect(thrownBy(() => refuseOverlap("op", across, { y: across }, { x: high }))).toMatchObject({
    code: "ERR_SURPRISAL_BUFFER",
  });
});

test("what was not given is new: a small array keeps its memory in the engine's heap, where it costs least", () => {
  const fresh = new Float32Array(4);
  const asked: string[] = [];
  const watched = (name: string, array: Float32Array): object => ({
    get [name]() {
      asked.push(name);
      return array;
    },
  });
  const outputs = Object.defineProperties(
    {},
    {
      ...Object.getOwnPropertyDescriptors(watched("y", apart)),
      ...Object.getOwnPropertyDescriptors(watched("z", fresh)),
    },
  ) as Record<string, Float32Array>;
  refuseOverlap("op", { y: apart }, outputs, { x: low });
  refuseOverlap("op", undefined, outputs, { x: low });
  expect(asked).toEqual([]); // what was given is looked at where it was given
});

test("functions pass on what they were given under the names of their outputs", () => {
  const values = memory.subarray(0, 4);
  const overlapping: readonly (() => unknown)[] = [
    () => groupNormalize(values, { groupOffsets: Int32Array.of(0, 4), out: { stds: memory.subarray(3, 4) } }),
    () => groupPlace({ values }, { shape: [1, 4], out: { placed: across } }),
    () => logprob(values, [0], { shape: [1, 4], out: { entropies: memory.subarray(1, 2) } }),
  ];
  for (const call of overlapping) expect(thrownBy(call)).toMatchObject({ code: "ERR_SURPRISAL_BUFFER" });
});
