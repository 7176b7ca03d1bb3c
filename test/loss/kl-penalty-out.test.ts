// Results of klPenalty in the caller's memory.
import { klPenalty } from "../../lib";
import { thrownBy } from "../support/thrown-by";
import { eachBackend } from "../support/each-backend";

const f32 = (...x: number[]): Float32Array => Float32Array.from(x);

eachBackend((backend) => {
  const [policy, reference] = [f32(-1, -2, -3, -0.5), f32(-1.5, -1, -3, -0.25)];
  const mask = Uint8Array.of(1, 1, 0, 1);
  const options = { shape: [2, 2] as const, mask, backend };

  test.each(["k1", "k2", "k3", "k3+", "abs"] as const)("%s goes there, with the bits of new arrays", (estimator) => {
    const out = { values: new Float32Array(4).fill(NaN), gradLogProbs: new Float32Array(4).fill(NaN) };
    const got = klPenalty(policy, reference, { ...options, estimator, out });
    const apart = klPenalty(policy, reference, { ...options, estimator });
    expect(got.values).toBe(out.values);
    expect(got.gradLogProbs).toBe(out.gradLogProbs);
    expect(got).toEqual(apart);
    expect(out.values[2]).toBe(0);
  });

  test("one of them alone may be given", () => {
    const values = new Float32Array(4);
    const got = klPenalty(policy, reference, { ...options, out: { values } });
    expect(got.values).toBe(values);
    expect(got.gradLogProbs).toEqual(klPenalty(policy, reference, options).gradLogProbs);
  });

  test("memory that cannot hold them is refused, and nothing is written", () => {
    const values = new Float32Array(4).fill(7);
    const refused = (out: object, more: object = {}): { readonly code: string; readonly message: string } =>
      thrownBy(() => klPenalty(policy, reference, { ...options, ...more, out } as never)) as never;
    expect(refused({ values: policy }).code).toBe("ERR_SURPRISAL_BUFFER");
    expect(refused({ values, gradLogProbs: values }).code).toBe("ERR_SURPRISAL_BUFFER");
    expect(refused({ values: new Float32Array(3) }).code).toBe("ERR_SURPRISAL_SHAPE");
    expect(refused({ values: new Float64Array(4) }).code).toBe("ERR_SURPRISAL_DTYPE");
    expect(refused({ values }, { importance: "self" })).toMatchObject({ code: "ERR_SURPRISAL_OPTION" });
    expect([...values]).toEqual([7, 7, 7, 7]);
  });
});
