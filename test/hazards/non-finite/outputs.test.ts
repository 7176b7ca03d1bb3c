// A refusal in the middle of a call writes nothing: what a caller gave for outputs is as it was, on every backend.
import * as s from "../../../lib";
import { topLogits } from "../../../lib/ops/divergence";
import { eachBackend } from "../../support/each-backend";

const shape = [64, 8] as const;
/** Only the last number is bad: what comes before it has been computed by then. */
function poisoned(value: number): Float32Array {
  const numbers = Float32Array.from({ length: 512 }, (_, i) => Math.sin(i));
  numbers[511] = value;
  return numbers;
}
const sound = Float32Array.from({ length: 512 }, (_, i) => Math.cos(i));
const flags = (): Uint8Array => new Uint8Array(512).fill(7);
const counts = (length: number): Int32Array => new Int32Array(length).fill(-5);

eachBackend((backend) => {
  test("topMask, now and later", async () => {
    const out = { selected: flags(), counts: counts(64) };
    const refusal = {
      code: "ERR_SURPRISAL_VALUE",
      details: expect.objectContaining({ name: "values[511]" }) as unknown,
    };
    expect(() => s.topMask(poisoned(NaN), { shape, k: 2, out, backend })).toThrow(expect.objectContaining(refusal));
    await expect(s.topMaskAsync(poisoned(NaN), { shape, k: 2, out, backend })).rejects.toMatchObject(refusal);
    expect(out).toEqual({ selected: flags(), counts: counts(64) });
    const fresh = s.topMask(sound, { shape, k: 2, backend });
    expect(s.topMask(sound, { shape, k: 2, out, backend })).toEqual(fresh);
    expect(out).toEqual(fresh);
    out.selected.fill(7);
    await s.topMaskAsync(sound, { shape, k: 2, out, backend });
    expect(out).toEqual(fresh);
  });

  test("topLogits", () => {
    const out = counts(192);
    expect(() => topLogits(poisoned(NaN), 3, { shape, out, backend })).toThrow(/logits\[511\] is NaN/);
    expect(out).toEqual(counts(192));
    const ids = topLogits(sound, 3, { shape, out, backend });
    expect(ids).toBe(out);
    expect(ids).toEqual(topLogits(sound, 3, { shape, backend }));
  });

  test("covarianceMask, also in the place of what it leaves out, now and later", async () => {
    const selected = flags();
    const excluded = Uint8Array.from({ length: 512 }, (_, i) => i % 2);
    const options = { shape, k: 9, backend };
    const refusal = /logProbs\[511\] is -Infinity/;
    const logProbs = poisoned(-Infinity);
    expect(() => s.covarianceMask(logProbs, sound, { ...options, out: { selected } })).toThrow(refusal);
    await expect(s.covarianceMaskAsync(logProbs, sound, { ...options, out: { selected } })).rejects.toThrow(refusal);
    expect(selected).toEqual(flags());
    expect(() => s.covarianceMask(logProbs, sound, { ...options, excluded, out: { selected: excluded } })).toThrow(
      refusal,
    );
    expect(excluded).toEqual(Uint8Array.from({ length: 512 }, (_, i) => i % 2));
  });
});
