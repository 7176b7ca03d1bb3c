// Which public ops take DeviceArrays: every one is either in the table below, and then gives the bits of the same backend's host
// call, or refuses by name.
import * as correction from "../../lib/ops/correction";
import * as delim from "../../lib/ops/delim";
import * as divergence from "../../lib/ops/divergence";
import * as group from "../../lib/ops/group";
import * as linear from "../../lib/ops/linear";
import * as logprob from "../../lib/ops/logprob";
import * as loss from "../../lib/ops/loss";
import * as modulate from "../../lib/ops/modulate";
import * as ratio from "../../lib/ops/ratio";
import * as reduce from "../../lib/ops/reduce";
import * as scan from "../../lib/ops/scan";
import * as select from "../../lib/ops/select";
import { DeviceArray } from "../../lib/core/device-array";
import { deviceRefusal, UNSAID } from "../../lib/core/device-ops";
import { CASES, type Send } from "../support/device-cases";
import { eachDeviceBackend } from "../support/each-device";
import { toHost } from "../support/to-host";
import { type Sendable, toDevice } from "../../lib";

const EXPORTED: Readonly<Record<string, unknown>> = {
  ...correction,
  ...delim,
  ...divergence,
  ...group,
  ...linear,
  ...logprob,
  ...loss,
  ...modulate,
  ...ratio,
  ...reduce,
  ...scan,
  ...select,
};

const isOp = (name: string): boolean => typeof EXPORTED[name] === "function" && /^[a-z]/.test(name);
const OPS = Object.keys(EXPORTED).filter(isOp);

test("every public op takes DeviceArrays or says why not", () => {
  const plain = OPS.filter((name) => !name.endsWith("Async"));
  expect(plain.filter((name) => deviceRefusal(name).reason === UNSAID)).toEqual([]);
  // An asynchronous form points at its plain one.
  for (const name of OPS.filter((op) => op.endsWith("Async"))) expect(plain).toContain(name.slice(0, -"Async".length));
});

test("the table below has every op that takes DeviceArrays", () => {
  expect([...new Set(CASES.map(({ op }) => op))].sort()).toEqual(
    OPS.filter((name) => !deviceRefusal(name).refused).sort(),
  );
});

eachDeviceBackend((backend) => {
  const sent = (array: Sendable, dtype?: string) =>
    toDevice(array, { backend, ...(dtype !== undefined && { dtype: dtype as "float16" }) }) as never;

  /** The arrays of a case, each where `place` says by its number. */
  const sender = (place: (index: number) => boolean): { send: Send; count: () => number } => {
    let index = 0;
    const send = ((array: Sendable, dtype) => (place(index++) ? sent(array, dtype) : array)) as Send;
    return { send, count: () => index };
  };

  describe.each(CASES.map((entry) => [entry.title, entry] as const))("%s", (_, { run }) => {
    const onHost = sender(() => false);
    const expected = () => run(onHost.send, backend);

    test("has the bits of the host call, with all arrays on the device", () => {
      expect(toHost(run(sender(() => true).send, backend))).toEqual(toHost(expected()));
    });

    test("and with any one of them there", () => {
      const host = toHost(expected());
      const count = sender(() => false);
      run(count.send, backend);
      for (let k = 0; k < count.count(); ++k) {
        const result = run(sender((index) => index === k).send, backend);
        const isThere =
          typeof result === "object" && result !== null && (DeviceArray.is(result) || !ArrayBuffer.isView(result));
        expect({ array: k, isThere }).toEqual({ array: k, isThere: true });
        expect(toHost(result)).toEqual(host);
      }
    });
  });
});
