// What the device side of a backend does with the answers of the addon, without one.
import type { Addon } from "../../lib/backend/addon";
import { nativeDevice } from "../../lib/backend/native-device";
import { errorCode } from "../support/error-code";

const deviceOf = (addon: Partial<Addon>) =>
  nativeDevice("emulated", 0, addon as Addon, 1, () => {
    throw new Error("no session is opened here");
  });
const EVENT = {} as never;

test("a status is thrown with the name of the call and what the addon says of it", () => {
  const device = deviceOf({ lastError: () => "out of luck", deviceCopy: () => 7 });
  const call = () => device.copy(EVENT, EVENT);
  expect(errorCode(call)).toBe("ERR_SURPRISAL_DEVICE");
  expect(call).toThrow("copyFrom: out of luck (emulated backend)");
});

test("a time between events that are not past is a mistake of the caller's", () => {
  const lastError = () => "event_elapsed: an event is not past; wait for it first";
  const call = () => deviceOf({ lastError, eventElapsed: () => NaN }).eventElapsed(EVENT, EVENT);
  expect(errorCode(call)).toBe("ERR_SURPRISAL_OPTION");
  expect(call).toThrow("since: event_elapsed: an event is not past");
  expect(deviceOf({ eventElapsed: () => 0.25 }).eventElapsed(EVENT, EVENT)).toBe(0.25);
});

test("memory that may change its size is refused before the addon sees it", async () => {
  let asked = 0;
  const device = deviceOf({
    deviceReadAsync: () => {
      ++asked;
      return Promise.resolve(null);
    },
  });
  const ResizableBuffer = ArrayBuffer as unknown as new (bytes: number, options: object) => ArrayBuffer;
  const resizable = new Float32Array(new ResizableBuffer(8, { maxByteLength: 16 }));
  await expect(device.readAsync(EVENT, resizable)).rejects.toMatchObject({ code: "ERR_SURPRISAL_BUFFER" });
  expect(asked).toBe(0);
  await device.readAsync(EVENT, new Float32Array(2));
  expect(asked).toBe(1);
});

test("what fails off the event loop rejects with its status and text", async () => {
  const device = deviceOf({ deviceReadAsync: () => Promise.resolve({ status: 10, error: "gone" } as never) });
  await expect(device.readAsync(EVENT, new Float32Array(1))).rejects.toMatchObject({
    code: "ERR_SURPRISAL_DEVICE_LOST",
    message: "readAsync: gone (emulated backend)",
  });
});
