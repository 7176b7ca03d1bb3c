// Writers whose disk is full, and writers that are killed: under the name is the old file whole or the new one whole.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { distFile } from "../support/dist";
import { HANG_MS } from "../support/hang";
import { temporaryFolder } from "./folder";

const folder = temporaryFolder();
const KILLS = process.env.SURPRISAL_LONG === "1" ? 100 : 6;

/** For a program: each writes `size` items that all hold the number `mark`. */
const WRITERS = `
const s = require(${JSON.stringify(distFile())}), io = require(${JSON.stringify(distFile("io", "index.js"))});
const WRITERS = {
  writeRollouts: (path, mark, size) => io.writeRollouts(path, Array.from({ length: size }, () => ({ text: "text", reward: mark })), { format: "jsonl" }),
  writeTensors: (path, mark, size) =>
    io.writeTensors(path, { x: { dtype: "float64", shape: [4 * size], data: new Float64Array(4 * size).fill(mark) } }, { format: "npz" }),
  writeTable: (path, mark, size) => io.writeTable(path, { columns: ["a"], rows: Array.from({ length: size }, () => ["a longer cell", mark]).map((row) => [row.join()]) }),
  saveControllers: async (path, mark, size) => {
    const names = Array.from({ length: size }, (_, i) => "controller" + i);
    const all = (value) => Object.fromEntries(names.map((name) => [name, value]));
    s.saveControllers(path, all("kl"), all(s.klController(mark)));
  },
};
`;
const NAMES = ["writeRollouts", "writeTensors", "writeTable", "saveControllers"];

const full = spawnSync("unshare", ["-rm", "sh", "-c", "mount -t tmpfs -o size=64k none /mnt"], { encoding: "utf8" });
const noDisk =
  full.status === 0
    ? ""
    : ` (skipped: no small file system can be mounted here: ${full.error?.message ?? full.stderr.trim()})`;

(noDisk === "" ? test : test.skip).each(NAMES)(
  `%s to a disk that becomes full: an error with the system's reason, the old file whole, nothing beside it${noDisk}`,
  (name) => {
    const program = `${WRITERS}
      const { readdirSync, readFileSync } = require("node:fs");
      const write = WRITERS[${JSON.stringify(name)}], path = "/mnt/file";
      (async () => {
        await write(path, 1, 10);
        const before = readFileSync(path, "latin1");
        let facts = {};
        try { await write(path, 2, 5000); } catch (error) { facts = { ours: error instanceof s.SurprisalError, code: error.code, message: error.message }; }
        console.log(JSON.stringify({ ...facts, same: readFileSync(path, "latin1") === before, files: readdirSync("/mnt") }));
        await write(path, 3, 10);
        console.log(readFileSync(path, "latin1") !== before);
      })();`;
    const mounted = 'mount -t tmpfs -o size=64k none /mnt && exec "$0" -e "$1"';
    const { status, stdout, stderr } = spawnSync("unshare", ["-rm", "sh", "-c", mounted, process.execPath, program], {
      encoding: "utf8",
      timeout: HANG_MS,
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    const [facts, next] = stdout.trim().split("\n");
    expect(JSON.parse(facts!)).toEqual({
      ours: true,
      code: "ERR_SURPRISAL_FILE",
      message: expect.stringMatching(/ENOSPC/) as string,
      same: true,
      files: ["file"],
    });
    expect(next).toBe("true");
  },
);

/** The moment of the next kill: after so many bytes of the child's report, which say how many files it has written. */
async function killAfter(child: ChildProcess, reports: number): Promise<void> {
  let seen = 0;
  child.stdout!.on("data", (data: Buffer) => {
    seen += data.length;
    if (seen >= reports) child.kill("SIGKILL");
  });
  await once(child, "close");
}

test.each(NAMES)("%s that is killed at any moment leaves the old file or the new one", async (name) => {
  const path = folder.at(name);
  mkdirSync(path);
  const file = `${path}/file`;
  // Each mark has its own bytes, the same every time: what is read afterwards is one of these.
  const whole = new Map<number, string>();
  const program = (kill: number) => `${WRITERS}
    const write = WRITERS[${JSON.stringify(name)}], path = ${JSON.stringify(file)};
    (async () => {
      for (let i = 0; ; ++i) { await write(path, 1 + (i % 2), ${400 + 37 * kill}); process.stdout.write("."); }
    })();`;
  for (let kill = 0; kill < KILLS; ++kill) {
    for (const mark of [1, 2]) {
      const once = `${WRITERS} WRITERS[${JSON.stringify(name)}](${JSON.stringify(`${path}/whole`)}, ${mark}, ${400 + 37 * kill});`;
      expect(spawnSync(process.execPath, ["-e", once], { timeout: HANG_MS }).status).toBe(0);
      whole.set(mark, readFileSync(`${path}/whole`, "latin1"));
    }
    const child = spawn(process.execPath, ["-e", program(kill)], { stdio: ["ignore", "pipe", "inherit"] });
    await killAfter(child, 2 + (kill % 5));
    expect([...whole.values()]).toContain(readFileSync(file, "latin1"));
  }
  // What the killed ones left beside it goes with the next writer's visit.
  spawnSync(process.execPath, ["-e", `${WRITERS} WRITERS[${JSON.stringify(name)}](${JSON.stringify(file)}, 1, 3);`]);
  expect(readdirSync(path).sort()).toEqual(["file", "whole"]);
});
