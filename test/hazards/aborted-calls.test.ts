// A call of js off the event loop waits for its turn: a signal that comes before it ends the call, and nothing is computed.
import { discountedReturnsAsync } from "../../lib";

test("an abort before a call's turn is its end, and nothing is written", async () => {
  const controller = new AbortController();
  const reason = new Error("enough");
  const returns = new Float64Array(3).fill(7);
  const call = discountedReturnsAsync(Float64Array.of(1, 2, 3), {
    shape: [1, 3],
    gamma: 1,
    backend: "js",
    signal: controller.signal,
    out: { returns },
  });
  controller.abort(reason);
  await expect(call).rejects.toBe(reason);
  expect(returns).toEqual(new Float64Array(3).fill(7));
});
