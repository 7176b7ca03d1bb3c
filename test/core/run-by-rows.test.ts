// Calls of many rows off the event loop, a part at a time.
import { runByRows } from "../../lib/backend/run-by-rows";

test("memory that may change its size is refused, though there is no row to be read of it", async () => {
  const ResizableBuffer = ArrayBuffer as unknown as new (bytes: number, options: object) => ArrayBuffer;
  const logits = new Float32Array(new ResizableBuffer(8, { maxByteLength: 16 }));
  const none = { logits, N: 0, V: 2, stride: 2, K: 1 } as never;
  const call = runByRows("logprobAsync", "logprobForward", none, { logits }, {});
  await expect(call).rejects.toMatchObject({ code: "ERR_SURPRISAL_BUFFER", details: { name: "logits" } });
});
