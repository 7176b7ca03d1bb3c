// Where memory runs out: a call says so with its code, and the next one that fits works. Each case is a process of its own, whose
// address space the shell limits.
import { spawnSync } from "node:child_process";
import { backendInfo, gae, logprob } from "../../lib";
import { distFile } from "../support/dist";
import { HANG_MS } from "../support/hang";

const LIMIT_KIB = 6_000_000; // Node itself reserves more than a GiB of addresses
const limits = spawnSync("bash", ["-c", `ulimit -v ${LIMIT_KIB}`]);
const why = limits.status === 0 ? "" : " (skipped: no shell here limits memory)";

/** V8 ends the process where it has no memory for itself: its young generation stays small, and what is left is more than it needs. */
const SMALL_YOUNG = "--max-semi-space-size=1"; // MiB

/** Opens a backend, and then fills the address space but for 44 MiB: two arrays of 16, and for a third one 12 too few. */
const OPEN = `
  const s = require(${JSON.stringify(distFile())});
  const MIB = 1 << 20;
  const status = () => require("node:fs").readFileSync("/proc/self/status", "utf8");
  const room = () => ${LIMIT_KIB} * 1024 - Number(/VmSize:\\s+(\\d+)/.exec(status())[1]) * 1024;
`;
const FILL = `
  const held = [];
  for (const size of [256 * MIB, 16 * MIB, MIB]) while (room() > size + 44 * MIB) held.push(new Uint8Array(size));
`;

(why === "" ? describe : describe.skip)(`out of memory${why}`, () => {
  const run = (program: string) => {
    const args = [
      "-c",
      `ulimit -v ${LIMIT_KIB} && exec "$0" ${SMALL_YOUNG} -e "$1"`,
      process.execPath,
      `${OPEN}${program}`,
    ];
    const { stdout, stderr, status, signal } = spawnSync("bash", args, { encoding: "utf8", timeout: HANG_MS });
    return { lines: stdout.trim().split("\n"), stderr, status, signal };
  };
  const SMALL = `s.gae(Float32Array.of(1, 2), new Float32Array(2), { shape: [1, 2], gamma: 1, lambda: 1, backend }).advantages.join()`;

  test.each(["js", "cpu", "wasm", "emulated"])("on %s", (backend) => {
    const program = `
      const backend = ${JSON.stringify(backend)};
      if (!s.backendInfo().backends.find(({ name }) => name === backend).available) console.log("not here");
      else {
        console.log(${SMALL});
        const n = 4 * MIB, x = new Float32Array(n), kept = [];
        const large = () => s.gae(x, x, { shape: [1, n], gamma: 1, lambda: 1, backend });
        if (backend === "cpu") large(); // its threads have their stacks
        ${FILL}
        let code = "none";
        for (let i = 0; i < 64 && code === "none"; ++i)
          try { kept.push(large()); } catch (error) { code = error.code ?? String(error); }
        console.log(code);
        held.length = kept.length = 0;
        console.log(${SMALL});
      }`;
    const { lines, stderr, status, signal } = run(program);
    expect({ stderr, status, signal }).toEqual({ stderr: "", status: 0, signal: null });
    if (lines[0] === "not here") return;
    expect(lines).toEqual(["3,2", "ERR_SURPRISAL_OUT_OF_MEMORY", "3,2"]);
  });
});

test("a result that no memory could hold is refused by its code", () => {
  expect(() => logprob(new Float32Array(0), null, { shape: [2 ** 45, 0] })).toThrow(
    expect.objectContaining({ code: "ERR_SURPRISAL_OUT_OF_MEMORY" }),
  );
});

test("more rows without tokens than could be looked at are refused, and do not last for ever", () => {
  const none = new Float32Array(0);
  for (const { name, available } of backendInfo().backends.filter(({ name }) => name !== "cuda"))
    if (available)
      expect(() => gae(none, none, { shape: [2 ** 46, 0], gamma: 1, lambda: 1, backend: name })).toThrow(
        expect.objectContaining({ code: "ERR_SURPRISAL_SHAPE" }),
      );
});
