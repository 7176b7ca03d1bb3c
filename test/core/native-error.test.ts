// Every status that native code can return is an error with a code of its own kind.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { nativeError } from "../../lib/backend/native-error";

const header = readFileSync(join(__dirname, "../../native/include/surprisal/status.h"), "utf8");
const statuses = [...header.matchAll(/SRP_(\w+) = (\d+)/g)].map(([, name, status]) => [name!, Number(status)] as const);

const CODES: Readonly<Record<string, string>> = {
  BAD_ARGUMENT: "ERR_SURPRISAL_OPTION",
  BAD_SHAPE: "ERR_SURPRISAL_SHAPE",
  BAD_DTYPE: "ERR_SURPRISAL_DTYPE",
  OUT_OF_RANGE: "ERR_SURPRISAL_RANGE",
  OUT_OF_MEMORY: "ERR_SURPRISAL_OUT_OF_MEMORY",
  UNAVAILABLE: "ERR_SURPRISAL_BACKEND_UNAVAILABLE",
  DEVICE: "ERR_SURPRISAL_DEVICE",
  UNSUPPORTED: "ERR_SURPRISAL_BACKEND_UNAVAILABLE",
  DEVICE_LOST: "ERR_SURPRISAL_DEVICE_LOST",
  NOT_FINITE: "ERR_SURPRISAL_VALUE",
};

test("the header has the statuses that are known here; success is none, and a stop is the caller's own reason", () => {
  expect(statuses.map(([name]) => name).sort()).toEqual(["OK", "STOPPED", ...Object.keys(CODES)].sort());
});

test.each(Object.entries(CODES))("%s is %s, with its text, backend and op", (name, code) => {
  const [, status] = statuses.find(([known]) => known === name)!;
  expect(nativeError("cuda", "gae", status, "the text")).toMatchObject({
    code,
    message: "the text (cuda backend)",
    details: { op: "gae", reason: "the text" },
  });
});

test("a status that is not known is a failure of the device", () => {
  expect(nativeError("cuda", "gae", 99, "x").code).toBe("ERR_SURPRISAL_DEVICE");
});
