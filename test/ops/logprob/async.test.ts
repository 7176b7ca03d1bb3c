import { logprob, logprobAsync, logprobBackward, logprobBackwardAsync } from "../../../lib";
import { eachBackend } from "../../support/each-backend";
import { rng } from "../../support/rng";

eachBackend((backend) => {
  const [N, V] = [6, 33];
  const logits = rng(1).normal(N * V, 0, 3);
  const targets = rng(2).i32(N * 2, 0, V);
  const options = { shape: [N, V] as const, temperature: 0.9, backend, mask: Uint8Array.of(1, 1, 0, 1, 1, 1) };
  const given = { gradLogProbs: rng(3).normal(N * 2), gradEntropies: rng(4).normal(N) };

  test("the asynchronous forms give what the synchronous ones give", async () => {
    const state = logprob(logits, targets, options);
    await expect(logprobAsync(logits, targets, options)).resolves.toEqual(state);
    const gradient = logprobBackward(logits, targets, state, { ...options, ...given });
    await expect(logprobBackwardAsync(logits, targets, state, { ...options, ...given })).resolves.toEqual(gradient);
  });

  test("many blocks of rows give the same as one call", async () => {
    const wide = 2 ** 19; // two rows a block
    const rows = 3;
    const x = new Float32Array(rows * wide);
    const values = rng(5).normal(1009);
    for (let i = 0; i < x.length; i += 1009) x.set(values.subarray(0, Math.min(1009, x.length - i)), i);
    const call = { shape: [rows, wide] as const, backend };
    const ids = [0, 5, wide - 1];
    const state = await logprobAsync(x, ids, call);
    expect(state).toEqual(logprob(x, ids, call));
    const back = { ...call, gradLogProbs: rng(6).normal(rows) };
    const [apart, whole] = [await logprobBackwardAsync(x, ids, state, back), logprobBackward(x, ids, state, back)];
    expect(Buffer.compare(new Uint8Array(apart.buffer), new Uint8Array(whole.buffer))).toBe(0);
  });

  test("an aborted signal rejects with its reason, before and between blocks", async () => {
    const reason = new Error("enough");
    const before = { entropies: new Float32Array(N).fill(7) };
    await expect(
      logprobAsync(logits, targets, { ...options, out: before, signal: AbortSignal.abort(reason) }),
    ).rejects.toBe(reason);
    expect(before.entropies).toEqual(new Float32Array(N).fill(7));

    const controller = new AbortController();
    const count = backend === "cpu" ? 1024 : 4; // enough for 10 ms, so that the signal comes in time on a busy machine
    const wide = backend === "cpu" ? 2 ** 15 : 2 ** 20;
    const entropies = new Float32Array(count).fill(7);
    const call = { shape: [count, wide] as const, backend, out: { entropies }, signal: controller.signal };
    const pending = logprobAsync(new Float32Array(count * wide), null, call);
    controller.abort(reason);
    await expect(pending).rejects.toBe(reason);
    expect(entropies[count - 1]).toBe(7); // the last block never ran
  });

  test("bad input rejects and writes nothing; a resizable buffer is refused", async () => {
    const entropies = new Float32Array(N).fill(7);
    await expect(
      logprobAsync(logits, targets, { ...options, temperature: 0, out: { entropies } }),
    ).rejects.toMatchObject({
      code: "ERR_SURPRISAL_OPTION",
    });
    expect(entropies).toEqual(new Float32Array(N).fill(7));
    const Resizable = ArrayBuffer as unknown as new (size: number, options: { maxByteLength: number }) => ArrayBuffer;
    const shrinking = new Float32Array(new Resizable(N * V * 4, { maxByteLength: N * V * 4 + 64 }));
    await expect(logprobAsync(shrinking, targets, options)).rejects.toMatchObject({ code: "ERR_SURPRISAL_BUFFER" });
  });

  test("a buffer that is transferred under a call leaves the right results, or a refusal", async () => {
    const x = Float32Array.from(logits);
    const pending = logprobAsync(x, targets, options);
    structuredClone(x, { transfer: [x.buffer] });
    expect(x).toHaveLength(0);
    // What runs on this thread has not begun yet; a backend on another one keeps a share in the memory.
    if (backend === "js" || backend === "wasm")
      await expect(pending).rejects.toMatchObject({ code: "ERR_SURPRISAL_BUFFER" });
    else await expect(pending).resolves.toEqual(logprob(logits, targets, options));
  });
});
