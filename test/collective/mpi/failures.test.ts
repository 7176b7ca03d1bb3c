// Processes that are lost, stopped, or call something else. Nobody waits for ever, and messages name the ranks.
import { openCollective } from "../../../lib/collective";
import { errorCode } from "../../support/error-code";
import { bothMpis, eachMpi, runProcesses, valuesOfProcesses } from "../../support/mpi";

const LOST = "ERR_SURPRISAL_COLLECTIVE_LOST";
const TIMEOUT = "ERR_SURPRISAL_COLLECTIVE_TIMEOUT";
const MISMATCH = "ERR_SURPRISAL_COLLECTIVE_MISMATCH";

eachMpi((mpi) => {
  test("different calls, types, lengths, reductions, roots and orders are an error on all ranks, and it goes on", async () => {
    const got = await valuesOfProcesses(mpi, [0, 1], (c) => {
      const floats = new Float64Array(3);
      const differing: (() => unknown)[] = [
        () => (c.rank === 0 ? (c.barrier(), 0) : c.allGather(floats)),
        () => c.allGather(c.rank === 0 ? floats : new Int32Array(3)),
        () => c.allReduce(new Float64Array(c.rank === 0 ? 2 : 200_000), "sum"),
        () => c.allReduce(floats, c.rank === 0 ? "min" : "max"),
        () => c.broadcast(floats, c.rank),
      ];
      const refusals = differing.map((call) => {
        try {
          return call();
        } catch (error) {
          const { code, message } = error as { code: string; message: string };
          return [code, message.replace(/^\w+: the call is /, "")];
        }
      });
      return { refusals, sum: c.allReduce(Float64Array.of(c.rank + 1), "sum")[0] };
    });
    const texts = [
      "barrier() on rank 0, allGather(Float64Array of 3) on rank 1",
      "allGather(Float64Array of 3) on rank 0, allGather(Int32Array of 3) on rank 1",
      'allReduce(Float64Array of 2, "sum") on rank 0, allReduce(Float64Array of 200000, "sum") on rank 1',
      'allReduce(Float64Array of 3, "min") on rank 0, allReduce(Float64Array of 3, "max") on rank 1',
      "broadcast(Float64Array of 3, from rank 0) on rank 0, broadcast(Float64Array of 3, from rank 1) on rank 1",
    ];
    const refusals = texts.map((text) => [MISMATCH, `${text}, expected the same on all ranks`]);
    expect(got).toEqual([
      { refusals, sum: 3 },
      { refusals, sum: 3 },
    ]);
  });

  test("a rank that closes, or ends without closing, ends the calls of those that wait for it, and of those that wait for these", async () => {
    const { outcomes } = await runProcesses(mpi, [0, 1, 2], async (c) => {
      const codes: string[] = [];
      const attempt = async (call: () => unknown): Promise<void> => {
        try {
          await call();
          codes.push("done");
        } catch (error) {
          codes.push((error as { code: string }).code, (error as Error).message);
        }
      };
      const two = c.rank < 2 ? undefined : c.subgroup([2]);
      c.barrier();
      if (c.rank === 1) return codes; // ends without closing
      await attempt(() => c.allReduceAsync(Float64Array.of(1), "sum"));
      await attempt(() => c.barrier());
      await attempt(() => two?.barrier());
      return codes;
    });
    const lost = (op: string): string => `${op}: rank 1 has ended (exit code 0); open a new collective to go on`;
    const codes = [LOST, lost("allReduceAsync"), LOST, lost("barrier")];
    expect(outcomes[0]!.value).toEqual([...codes, "done"]);
    expect(outcomes[2]!.value).toEqual([...codes, LOST, lost("barrier")]);
  });

  test.each(["before", "during", "after"] as const)("a rank that is killed %s a call", async (when) => {
    const { outcomes } = await runProcesses(
      mpi,
      [when, when, when],
      async (c, _, moment) => {
        c.barrier();
        if (c.rank === 1) {
          if (moment === "before") process.kill(process.pid, "SIGKILL");
          if (moment === "after") c.barrier();
          else void c.allGatherAsync(new Float64Array(200_000)); // under way
          process.kill(process.pid, "SIGKILL");
        }
        if (moment === "after") c.barrier();
        try {
          for (;;) await c.allGatherAsync(new Float64Array(200_000));
        } catch (error) {
          const later = (() => {
            try {
              c.barrier();
            } catch (again) {
              return (again as { code: string }).code;
            }
            return "none";
          })();
          return [(error as { code: string }).code, later];
        }
      },
      { timeout: 10_000, survive: true },
    );
    // A launcher that ends the whole job leaves no outcome. Who is left learns of the loss or waits in vain.
    expect(outcomes[1]).toEqual({});
    for (const rank of [0, 2]) {
      const { value } = outcomes[rank]!;
      if (value === undefined) continue;
      expect([LOST, TIMEOUT]).toContain(value[0]);
      expect(value[1]).toBe(LOST);
    }
  });

  test("SIGTERM rejects the call that waits, ends the process by the signal, and the others learn it", async () => {
    const { outcomes, output } = await runProcesses(
      mpi,
      [0, 1],
      async (c) => {
        const [, [pid]] = c.allGather(Int32Array.of(process.pid)) as [Int32Array, Int32Array];
        if (c.rank === 0) {
          const { readFileSync } = process.getBuiltinModule("node:fs");
          const lives = (): boolean => {
            try {
              // A launcher may leave the dead one as a zombie.
              return !readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z ");
            } catch {
              return false;
            }
          };
          while (lives()) await new Promise((done) => setTimeout(done, 20));
          try {
            for (;;) c.barrier(); // the first one still finds the call that the other began
          } catch (error) {
            return (error as { code: string }).code;
          }
        }
        setTimeout(() => process.kill(process.pid, "SIGTERM"), 50);
        return c.barrierAsync().catch((error: unknown) => {
          const { message } = error as Error;
          process.stderr.write(`[${message}]`);
          return message;
        });
      },
      { timeout: 10_000, survive: true },
    );
    const told = "rank 1 was told to end (SIGTERM); open a new collective to go on";
    expect(output).toContain(`[SIGTERM: ${told}]`);
    // A launcher may end the other one first; and the farewell may not have left.
    if (outcomes[0]!.value !== undefined) expect([LOST, TIMEOUT]).toContain(outcomes[0]!.value);
  });

  test("a rank that is stopped is waited for until the deadline, and all later calls are refused at once", async () => {
    const { outcomes, exitCode } = await runProcesses(
      mpi,
      [0, 1],
      (c) => {
        c.barrier();
        if (c.rank === 1) process.kill(process.pid, "SIGSTOP");
        const codes: string[] = [];
        for (let i = 0; i < 2; ++i)
          try {
            c.allReduce(Float64Array.of(1), "sum");
          } catch (error) {
            codes.push((error as { code: string }).code);
          }
        setTimeout(() => c.close({ abort: true }), 200); // the launcher ends the stopped one too
        return codes;
      },
      { timeout: 10_000 }, // for opening too, on a busy machine
    );
    expect(outcomes[0]).toEqual({ value: [TIMEOUT, LOST] });
    // The launcher wakes the stopped one before it ends it, which may leave the time to learn of the loss.
    const woken = (outcomes[1]!.value ?? []) as readonly string[];
    expect(woken.filter((code) => code !== LOST && code !== TIMEOUT)).toEqual([]);
    expect(exitCode).not.toBe(0);
  });
});

if (!bothMpis)
  test.skip("a launcher with the other library is not tried: it takes Open MPI and MPICH", () => undefined);
else
  eachMpi((mpi) => {
    // Each rank would be alone, and compute something else than what was asked for.
    test("the library of another launcher is refused by every rank", async () => {
      const library = mpi.name === "MPICH" ? "libmpi.so.40" : "libmpich.so.12";
      const { exitCode, output } = await runProcesses({ ...mpi, library }, [0, 1], (c) => c.size);
      expect(exitCode).not.toBe(0);
      expect(output).toContain("sees 1 rank(s) of the 2 that the launcher started");
      expect(output).toContain("ERR_SURPRISAL_COLLECTIVE_LIBRARY");
    });
  });

test.each([
  ["a library that is not there", "libmpi-of-nobody.so.1", "libmpi-of-nobody.so.1"],
  ["a library that is no MPI", "libm.so.6", "libm.so.6 has no function MPI_"],
])("%s is refused by name", (_, library, text) => {
  const open = (): unknown => openCollective("mpi", { library });
  expect(errorCode(open)).toBe("ERR_SURPRISAL_COLLECTIVE_LIBRARY");
  expect(open).toThrow(text);
});

test("options of another kind, and wrong ones, are refused", () => {
  for (const call of [
    () => openCollective("mpi", { timeout: 0 }),
    () => openCollective("mpi", { checked: 1 as never }),
    () => openCollective("mpi", { library: 5 as never }),
    () => openCollective("single", { timeout: 5 }),
    () => openCollective("workers", { library: "libmpi.so" }),
    () => openCollective("nobody" as never),
  ])
    expect(errorCode(call)).toBe("ERR_SURPRISAL_OPTION");
});
