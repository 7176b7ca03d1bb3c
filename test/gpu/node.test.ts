// The bench that the GPU bundle runs from Node, with tiny shapes: what it writes, and that it writes nothing that is wrong.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { GPU_GOALS } from "../../bench/gpu/goals";
import type { DeviceCase } from "../../bench/gpu/node/case";
import { logitCases } from "../../bench/gpu/node/logits";
import { byGoals, deviceCases, main } from "../../bench/gpu/node/main";
import { type DeviceBench, runDeviceCase } from "../../bench/gpu/node/run-case";
import { tokenCases } from "../../bench/gpu/node/tokens";
import { matches } from "../../bench/goals";
import { parseLines } from "../../bench/record";
import { createStream } from "../../lib";
import type { Backend } from "../../lib/backend/backend";
import { selectBackend } from "../../lib/backend/select";
import { streamBackend } from "../../lib/backend/streams";
import { eachDeviceBackend } from "../support/each-device";
import { resultLine } from "../bench/result-lines";

const facts = resultLine({}).run;
const card = { ...facts, computeCapability: "9.0" };

test("every goal of a share is about cases that are timed", () => {
  const lines = deviceCases(false).map((one) => resultLine({ ...one, threads: 0 }));
  const idle = GPU_GOALS.filter(
    ({ figure, match }) => figure === "share" && !lines.some((line) => matches(line, match)),
  );
  expect(idle.map(({ says }) => says)).toEqual([]);
});

test("a case of each goal comes first, and none is lost", () => {
  const cases = deviceCases(false);
  const ordered = byGoals(cases);
  expect(new Set(ordered)).toEqual(new Set(cases));
  expect(ordered).toHaveLength(cases.length);
  const first = ordered.slice(0, GPU_GOALS.length).map((one) => resultLine({ ...one, threads: 0 }));
  for (const { says, figure, match } of GPU_GOALS)
    if (figure === "share") expect([says, first.some((line) => matches(line, match))]).toEqual([says, true]);
});

eachDeviceBackend((backend) => {
  test("writes a line of every case, checked, with its share of a copy", () => {
    const folder = mkdtempSync(join(tmpdir(), "surprisal-node-bench-"));
    const says = jest.spyOn(console, "log").mockImplementation(() => undefined);
    try {
      const [from, out] = [join(folder, "card.json"), join(folder, "node.jsonl")];
      writeFileSync(from, JSON.stringify(card));
      expect(main(["--backend", backend, "--card", from, "--out", out, "--tiny"])).toBe(0);
      const lines = parseLines(readFileSync(out, "utf8"), out);
      const cases = byGoals(deviceCases(true));
      expect(lines.filter(({ share }) => share).map(({ op, dtype, rowKind }) => [op, dtype, rowKind])).toEqual(
        cases.map(({ op, dtype, rowKind }) => [op, dtype, rowKind]),
      );
      for (const { share, time, error, run, level, backend: where } of lines) {
        expect({ where, level, through: run.through }).toEqual({ where: backend, level: "9.0", through: "Node" });
        expect(time.median).toBeGreaterThan(0);
        if (share) expect(share.p20 > 0 && share.p80 < Infinity && Object.keys(error).length > 0).toBe(true);
        expect(Object.values(error).every(({ used }) => used! <= 1)).toBe(true);
      }
      expect(lines.filter(({ share }) => !share).map(({ op }) => op)).toEqual([
        "toDevice",
        "read",
        "logprob, on host arrays",
        "gae, on host arrays",
      ]);
      // What never differs compares something with itself.
      expect(lines.some(({ error }) => Object.values(error).some(({ maxAbs }) => maxAbs > 0))).toBe(true);
    } finally {
      says.mockRestore();
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test("times nothing that the CPU backend has otherwise, in any part of the rows", () => {
    using stream = createStream({ backend });
    const said: string[] = [];
    const bench = (changes: Partial<DeviceBench>): DeviceBench => ({
      backend: streamBackend(stream),
      stream,
      cpu: selectBackend("test", "cpu"),
      facts,
      level: "",
      spread: 1,
      milliseconds: 0,
      repetitions: 1,
      say: (text) => void said.push(text),
      ...changes,
    });
    const [one] = tokenCases(true) as [DeviceCase];
    expect(runDeviceCase(one, bench({}))).toBeDefined();
    const cpu = selectBackend("test", "cpu");
    const other: Backend["ops"] = {
      ...cpu.ops,
      scanGae(args) {
        cpu.ops.scanGae(args);
        args.advantages![5]! += 1e-2;
      },
    };
    expect(runDeviceCase(one, bench({ cpu: { ...cpu, ops: other } }))).toBeUndefined();
    expect(said.at(-1)).toMatch(/WRONG, not timed: advantages/);

    const repeated = logitCases(true).find(({ shape, op }) => op === "logprob" && shape.sizes[0] === 4)!;
    expect(repeated.prepare().repeat).toEqual({ times: 2, count: "N" });
    const device = streamBackend(stream);
    const half: Backend["ops"] = {
      ...device.ops,
      logprobForward: (args) => device.ops.logprobForward({ ...args, N: args.N / 2 }),
    };
    expect(runDeviceCase(repeated, bench({ backend: { ...device, ops: half } }))).toBeUndefined();
    expect(said.at(-1)).toMatch(/WRONG, not timed/);
  });
});
