// NCCL by a library in its place: calls on host arrays and on DeviceArrays, and what becomes of ranks that fail, stall or differ.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as surprisal from "../../../lib";
import { openCollective } from "../../../lib/collective";
import { distFile } from "../../support/dist";
import { errorCode } from "../../support/error-code";
import { HANG_MS } from "../../support/hang";
import { joined, plain } from "../joined";
import { everyUser, partsOf, wholeBatch } from "../users";
import { buildFake, runNccl, valuesOf, whyNot } from "./fake";

const LOST = "ERR_SURPRISAL_COLLECTIVE_LOST";
const TIMEOUT = "ERR_SURPRISAL_COLLECTIVE_TIMEOUT";
const LIBRARY = "ERR_SURPRISAL_COLLECTIVE_LIBRARY";

const through = openCollective("single");

test.each([
  ["a library that is not there", "libnccl-of-nobody.so.2", "libnccl-of-nobody.so.2"],
  ["a library that is no NCCL", "libm.so.6", "libm.so.6 has no function ncclGetVersion"],
])("%s is refused by name, with what to do next", (_, library, text) => {
  const open = (): unknown => openCollective("nccl", { through, library });
  expect(errorCode(open)).toBe(LIBRARY);
  expect(open).toThrow(text);
  expect(open).toThrow("install NCCL 2.14 or newer");
});

test("options of another kind, and wrong ones, are refused", () => {
  for (const call of [
    () => openCollective("nccl", {}),
    () => openCollective("nccl", { through: 5 as never }),
    () => openCollective("nccl", { through, stream: {} as never }),
    () => openCollective("nccl", { through, timeout: 0 }),
    () => openCollective("mpi", { through }),
    () => openCollective("single", { through }),
  ])
    expect(errorCode(call)).toBe("ERR_SURPRISAL_OPTION");
});

test("a DeviceArray is refused by collectives in host memory, which name the one that takes it", () => {
  const values = { dtype: "float32" };
  expect(errorCode(() => through.allGather(values as never))).toBe("ERR_SURPRISAL_DTYPE");
});

const missing = whyNot();
if (missing !== undefined) test.skip(`NCCL's calls are not tried: ${missing}`, () => undefined);
else
  describe("over a library in NCCL's place", () => {
    const folder = mkdtempSync(join(tmpdir(), "surprisal-fake-nccl-"));
    const library = buildFake(folder);
    afterAll(() => rmSync(folder, { recursive: true, force: true }));

    test.each([true, false])("host arrays on three ranks, short and in pieces; checked: %s", async (checked) => {
      const run = await runNccl(
        library,
        Array(3).fill({ checked }) as { checked: boolean }[],
        async (open, _, input) => {
          const c = open({ checked: input.checked });
          const results = [];
          for (const length of [0, 1, 4, 5, 131_073]) {
            const values = Float64Array.from({ length }, (__, i) => i + 10 * c.rank);
            const whole = Int32Array.from({ length }, (__, i) => i * (c.rank - 1));
            const sum = c.allReduce(values, "sum");
            const last = (await c.broadcastAsync(values, 2)).at(-1);
            const parts = c.allGather(whole).map((part) => part.at(-1));
            c.barrier();
            await c.barrierAsync();
            results.push([sum.length, sum.at(-1), last, parts]);
          }
          const two = c.rank === 1 ? undefined : c.subgroup([2, 0]);
          return {
            kind: c.kind,
            library: c.library,
            results,
            two: two?.allGather(Int32Array.of(c.rank)).map(([r]) => r),
          };
        },
      );
      const results = [0, 1, 4, 5, 131_073].map((n) =>
        n === 0
          ? [0, undefined, undefined, [undefined, undefined, undefined]]
          : [n, 3 * (n - 1) + 30, n - 1 + 20, [1 - n, 0, n - 1].map((x) => x + 0)],
      );
      const rest = { kind: "nccl", library: "NCCL 2.23.4", results };
      expect(valuesOf(run)).toEqual([
        { ...rest, two: [2, 0] },
        { ...rest, two: undefined },
        { ...rest, two: [2, 0] },
      ]);
    });

    test("DeviceArrays of every type stay on the device, on one rank and on three", async () => {
      for (const ranks of [[0], [0, 1, 2]]) {
        const run = await runNccl(library, ranks, async (open, s) => {
          const c = open();
          const place = { backend: "emulated" } as const;
          const sent = [
            s.toDevice(
              Float32Array.of(1, 2, 3, 4).map((x) => x + 10 * c.rank),
              { ...place, shape: [2, 2] },
            ),
            s.toDevice(Float64Array.of(0.5, c.rank), place),
            s.toDevice(Int32Array.of(c.rank), place),
            s.toDevice(Uint8Array.of(1, 2, 3, c.rank), place),
            s.toDevice(Uint16Array.of(0x3c00 + c.rank), { ...place, dtype: "bfloat16" }),
            s.deviceEmpty("float32", [0, 3], place),
          ];
          const gathered = [];
          for (const values of sent) {
            const parts = c.allGather(values);
            const later = await c.allGatherAsync(values);
            gathered.push(
              [parts, later].map((all) => all.map((part) => [part.dtype, part.shape, Array.from(part.read())])),
            );
          }
          const last = c.broadcast(sent[0]!, c.size - 1);
          const first = await c.broadcastAsync(sent[2]!, 0);
          const mine = c.subgroup([c.rank]).allGather(sent[1]!)[0]!;
          // A call on what came, in stream order.
          const sums = s.prefixSums(last as surprisal.DeviceArray<"float32">, { shape: [1, 4] }).read();
          return {
            gathered,
            last: Array.from(last.read()),
            first: first.read()[0],
            mine: mine.read()[1],
            sum: sums.at(-1),
          };
        });
        const values = valuesOf(run);
        values.forEach(({ gathered, last, first, mine, sum }, rank) => {
          const want = (dtype: string, shape: number[], numbers: (r: number) => number[]) => {
            const all = ranks.map((r) => [dtype, shape, numbers(r)]);
            return [all, all];
          };
          expect(gathered).toEqual([
            want("float32", [2, 2], (r) => [1, 2, 3, 4].map((x) => x + 10 * r)),
            want("float64", [2], (r) => [0.5, r]),
            want("int32", [1], (r) => [r]),
            want("uint8", [4], (r) => [1, 2, 3, r]),
            want("bfloat16", [1], (r) => [0x3c00 + r]),
            want("float32", [0, 3], () => []),
          ]);
          expect(last).toEqual([1, 2, 3, 4].map((x) => x + 10 * (ranks.length - 1)));
          expect([first, mine]).toEqual([0, rank]);
          expect(sum).toBe(10 + 40 * (ranks.length - 1));
        });
      }
    });

    test("every function that takes a collective has the bits of one process", async () => {
      const whole = wholeBatch(5, 11, "cpu");
      const expected = everyUser(undefined, surprisal, whole);
      const program = `(open, s, part) => (${everyUser.toString()})(open(), s, part)`;
      const run = await runNccl(library, partsOf(whole, [0, 4, 11]), program as never);
      const got = valuesOf(run) as ReturnType<typeof everyUser>[];
      for (const [user, want] of Object.entries(expected)) {
        const found = joined(got.map((one) => one[user]!));
        expect({ user, ...found }).toEqual({ user, own: plain(want.own), shared: want.shared });
      }
    });

    test("the asynchronous forms leave the event loop free", async () => {
      const run = await runNccl(library, [0, 1], async (open, _, __, workers) => {
        const c = open();
        if (c.rank === 0) {
          workers.barrier(); // comes only when the other one's loop has turned
          c.barrier();
          return "second";
        }
        const waiting = c.barrierAsync();
        await new Promise((done) => setTimeout(done, 1));
        workers.barrier();
        await waiting;
        return "first";
      });
      expect(valuesOf(run)).toEqual(["second", "first"]);
    });

    test("calls that differ are an error on all ranks, types of DeviceArrays too, and it goes on", async () => {
      const run = await runNccl(library, [0, 1], (open, s) => {
        const c = open();
        const place = { backend: "emulated" } as const;
        const narrow = s.toDevice(new Float32Array(3), place);
        const refused = [
          () => c.allGather(c.rank === 0 ? narrow : s.toDevice(new Float64Array(3), place)),
          () => c.allGather(c.rank === 0 ? narrow : (new Float64Array(3) as never)),
          () => (c.rank === 0 ? (c.barrier(), 0) : c.broadcast(narrow, 1)),
        ].map((call) => {
          try {
            call();
            return "nothing";
          } catch (error) {
            return (error as Error).message.replace(/^\w+: the call is /, "");
          }
        });
        return { refused, sum: c.allReduce(Float64Array.of(c.rank + 1), "sum")[0] };
      });
      const refused = [
        "allGather(DeviceArray of float32, 3) on rank 0, allGather(DeviceArray of float64, 3) on rank 1",
        "allGather(DeviceArray of float32, 3) on rank 0, allGather(Float64Array of 3) on rank 1",
        "barrier() on rank 0, broadcast(DeviceArray of float32, 3, from rank 1) on rank 1",
      ].map((text) => `${text}, expected the same on all ranks`);
      expect(valuesOf(run)).toEqual(Array(2).fill({ refused, sum: 3 }));
    });

    // The first transfer is the barrier of opening.
    test("a failure that NCCL reports later ends the call of all ranks, and all later ones at once", async () => {
      const run = await runNccl(
        library,
        [0, 1],
        async (open) => {
          const c = open();
          const errors: [string, string][] = [];
          for (const call of [() => c.allReduceAsync(Float64Array.of(1), "sum"), () => c.barrierAsync()])
            try {
              await call();
            } catch (error) {
              const { code, message } = error as { code: string; message: string };
              errors.push([code, message]);
            }
          c.close();
          return errors;
        },
        { FAKE_NCCL_FAIL: "2" },
      );
      const next = "start the job again from its last saved state";
      const failed = `NCCL failed (unhandled system error: as the test asked); ${next}`;
      const remote = `NCCL failed (remote process exited); ${next}`;
      const [failing, other] = valuesOf(run);
      expect(failing).toEqual(["allReduceAsync", "barrierAsync"].map((op) => [LOST, `${op}: ${failed}`]));
      expect(other).toEqual(["allReduceAsync", "barrierAsync"].map((op) => [LOST, `${op}: ${remote}`]));
      expect([...run.log].sort()).toEqual(["abort 0", "abort 1"]);
    });

    test("a rank that stalls is waited for until the deadline; then the communicator is aborted and refuses", async () => {
      const run = await runNccl(
        library,
        [0, 1],
        (open, s) => {
          const c = open({ timeout: 10_000 }); // for opening too, on a busy machine
          const codes: string[] = [];
          for (const call of [
            () => c.allGather(s.toDevice(Float32Array.of(1), { backend: "emulated" })),
            () => c.barrier(),
          ])
            try {
              call();
            } catch (error) {
              codes.push((error as { code: string }).code);
            }
          return codes;
        },
        { FAKE_NCCL_STALL: "2" },
      );
      const codes = valuesOf(run);
      // Who gives up first aborts, which the other may hear before its own time is over.
      expect(codes.some(([code]) => code === TIMEOUT)).toBe(true);
      for (const [first, second] of codes) expect([[TIMEOUT, LOST].includes(first!), second]).toEqual([true, LOST]);
      expect([...run.log].sort()).toEqual(["abort 0", "abort 1"]);
    });

    // Signals come to a process's first thread alone, so this rank has a process of its own, and is the only one.
    test("SIGTERM rejects the call that waits, and ends the process by the signal", () => {
      const dist = distFile();
      const program = `
        const { createStream, toDevice } = require(${JSON.stringify(dist)});
        const { openCollective } = require(${JSON.stringify(join(dist, "collective"))});
        const stream = createStream({ backend: "emulated" });
        const c = openCollective("nccl", { through: openCollective("single"), stream });
        c.allGatherAsync(toDevice(Float32Array.of(1), { backend: "emulated" })).then(
          () => process.stderr.write("it ended"),
          ({ code, message }) => process.stderr.write(code + " " + message),
        );
        setTimeout(() => process.kill(process.pid, "SIGTERM"), 20);`;
      const env = { SURPRISAL_NCCL: library, FAKE_NCCL_FOLDER: folder, FAKE_NCCL_STALL: "1" };
      const ended = spawnSync(process.execPath, ["-e", program], {
        env: { ...process.env, ...env, SURPRISAL_EMULATION_STREAMS: "sync" },
        encoding: "utf8",
        timeout: HANG_MS,
      });
      expect(ended).toMatchObject({
        stderr: `${LOST} SIGTERM: rank 0 was told to end (SIGTERM); open a new collective to go on`,
        status: null,
        signal: "SIGTERM",
      });
    });

    test("a stream that is being captured joins nobody, and says why", async () => {
      const run = await runNccl(library, [0], (open, s) => {
        const stream = s.createStream({ backend: "emulated" });
        const c = open({ stream });
        const values = s.toDevice(Float32Array.of(1), { stream });
        try {
          stream.capture(() => c.allGather(values));
          return undefined;
        } catch (error) {
          const { code, message } = error as { code: string; message: string };
          return [code, message];
        }
      });
      const why = "allGather: queue_lend: the queue is being captured; end the capture first (emulated backend)";
      expect(valuesOf(run)).toEqual([["ERR_SURPRISAL_OPTION", why]]);
    });

    test("what was sent arrives before a rank that closes, or ends without closing, is gone", async () => {
      const run = await runNccl(library, [0, 1], (open) => {
        const c = open();
        const sum = c.allReduce(Float64Array.of(c.rank), "sum")[0];
        if (c.rank === 0) c.close();
        return sum;
      });
      expect(valuesOf(run)).toEqual([1, 1]);
      expect([...run.log].sort()).toEqual(["destroy 0", "destroy 1", "finalize 0", "finalize 1"]);
    });

    test("an NCCL that cannot be polled is refused on all ranks", async () => {
      const run = await runNccl(library, [0, 1], (open) => open().size, { FAKE_NCCL_VERSION: "21304" });
      for (const { error } of run.outcomes) {
        expect(error?.code).toBe(LIBRARY);
        expect(error?.message).toMatch(/is NCCL 2\.13\.4, and 2\.14 is the oldest that can be polled/);
      }
    });

    test("ranks with different versions, or one without a library, are named on all of them", () => {
      const stream = surprisal.createStream({ backend: "emulated" });
      const others = (...versions: number[]) => ({
        ...through,
        rank: 0,
        size: 2,
        allGather: () => versions.map((version) => Int32Array.of(version)),
      });
      const open = (other: number) => () =>
        openCollective("nccl", { through: others(22304, other) as never, stream, library });
      expect(open(21805)).toThrow("rank 0 has NCCL 2.23.4, rank 1 2.18.5, and one job needs one version");
      expect(open(0)).toThrow("rank 1 has none, and says why");
      expect(errorCode(open(0))).toBe(LIBRARY);
    });
  });
