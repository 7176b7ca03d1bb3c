// Parts as real processes: one that is killed and run again, and all at once as the ranks of an MPI job.
import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, watch } from "node:fs";
import { distFile } from "../../support/dist";
import { HANG_MS } from "../../support/hang";
import { eachMpi } from "../../support/mpi";
import { jsonl, surprisal, temporaryFolder } from "../in-process";
import { records } from "../records";

const folder = temporaryFolder();
const main = distFile("cli", "main.js");

const text = (seed: number, groups = 3, members = 3): string =>
  jsonl(records(seed, groups, members).map((line) => ({ ...line, group: `${line.group} of ${seed}` })));
const files = (): string[] => [1, 2, 3, 4].map((seed) => folder.file(`file_${seed}.jsonl`, text(seed)));

test("one of four processes is killed at its work, and run again: the file of one process, and nothing left half-written", async () => {
  const place = folder.path("killed.shards");
  const out = folder.path("killed.jsonl");
  const args = ["advantages", ...files(), "-e", "grpo", "--out", out];
  const start = (which: number) =>
    spawn(process.execPath, [main, ...args, "--shard", `${which}/4`, "--shard-folder", place], { stdio: "ignore" });
  const ended = (child: ReturnType<typeof spawn>): Promise<number | null> =>
    new Promise((done) => child.on("close", (code) => done(code)));
  const appeared = new Promise<void>((done) => {
    const look = (): void => {
      if (!existsSync(place)) return;
      watcher.close();
      done();
    };
    const watcher = watch(folder.path(""), look);
    look();
  });
  const victim = start(2);
  const death = ended(victim);
  await appeared; // it has begun
  victim.kill("SIGKILL");
  await death;
  const others = [0, 1, 3].map((which) => ended(start(which)));
  expect(await Promise.all(others)).toEqual([0, 0, 0]);
  expect(await ended(start(2))).toBe(0);
  expect(await surprisal(["merge", place])).toMatchObject({ code: 0 });
  const whole = folder.path("killed.whole.jsonl");
  expect(await surprisal([...args.slice(0, -1), whole])).toMatchObject({ code: 0 });
  expect(readFileSync(out, "utf8")).toBe(readFileSync(whole, "utf8"));
  expect(readdirSync(place).filter((name) => name.startsWith(".partial-"))).toEqual([]);
}, 120_000);

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

eachMpi(({ program, library, more }) => {
  const job = (ranks: number, args: readonly string[]): Promise<Ended> =>
    new Promise((done, fail) => {
      const child = spawn(program, [...more, "-n", `${ranks}`, process.execPath, main, ...args], {
        env: { ...process.env, SURPRISAL_MPI: library, OMPI_MCA_pml: "ob1" },
        stdio: ["ignore", "pipe", "pipe"],
        timeout: HANG_MS,
      });
      let [stdout, stderr] = ["", ""];
      child.stdout.on("data", (piece: Buffer) => (stdout += piece.toString()));
      child.stderr.on("data", (piece: Buffer) => (stderr += piece.toString()));
      child.on("error", fail);
      child.on("close", (code) => done({ code, stdout, stderr }));
    });

  // Five ranks of four files cut rows, and read all files; three take whole files.
  test.each([1, 3, 5])(
    "%i ranks whiten over everything in one go: the file and the answer of one process, once",
    async (ranks) => {
      const args = ["advantages", ...files(), "-e", "gae", "--gamma", "1", "--lambda", "0.9", "--whitening", "{}"];
      const all = [...args, "--batch", "all", "--json", "--out"];
      const [whole, out] = [folder.path("whole.jsonl"), folder.path(`ranks-${ranks}.jsonl`)];
      expect(await surprisal([...all, whole])).toMatchObject({ code: 0 });
      const ended = await job(ranks, [...all, out, "--shard-folder", folder.path(`ranks-${ranks}-${library}.shards`)]);
      expect({ ...ended, stdout: undefined }).toMatchObject({ code: 0 });
      const { batches } = JSON.parse(ended.stdout) as { batches: { rollouts: number }[] };
      expect(batches).toMatchObject([{ rollouts: 36 }]);
      expect(readFileSync(out, "utf8")).toBe(readFileSync(whole, "utf8"));
    },
    2 * HANG_MS,
  );

  test(
    "a rank that cannot read its file ends the job, and nothing is written",
    async () => {
      const given = [...files().slice(0, 3), folder.file("broken.jsonl", `no record\n${text(4)}`)];
      const out = folder.path("broken.out.jsonl");
      const ended = await job(2, ["advantages", ...given, "-e", "grpo", "--batch", "all", "--out", out]);
      expect(ended.code).not.toBe(0);
      expect(ended.stderr).toContain("broken.jsonl");
      expect(existsSync(out)).toBe(false);
    },
    2 * HANG_MS,
  );
});
