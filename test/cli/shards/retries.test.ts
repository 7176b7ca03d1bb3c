// What a part leaves behind, and what is refused: retries, other input, groups that leave their part, parts of different work.
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { writeTensors } from "../../../lib/io";
import { documentOf, jsonl, surprisal, temporaryFolder } from "../in-process";
import { records } from "../records";
import { inParts } from "./in-parts";

const folder = temporaryFolder();

const text = (seed: number, groups = 3, members = 3): string =>
  jsonl(records(seed, groups, members).map((line) => ({ ...line, group: `${line.group} of ${seed}` })));
const files = (): string[] => [1, 2, 3, 4].map((seed) => folder.file(`file_${seed}.jsonl`, text(seed)));

const GAE = ["-e", "gae", "--gamma", "1", "--lambda", "0.9", "--whitening", "{}"];

const part = (args: readonly string[], which: string, place: string) =>
  surprisal([...args, "--shard", which, "--shard-folder", place, "--json"]);

test("a part that is done is not computed again; of other input it is", async () => {
  const [first] = files();
  const place = folder.path("again.shards");
  const args = ["advantages", ...files(), "-e", "grpo", "--out", folder.path("again.jsonl")];
  expect(documentOf(await part(args, "0/2", place))).toMatchObject({ state: "done", again: false, rollouts: 18 });
  const left = (): number => statSync(`${place}/part-0.jsonl`).ino; // a file that is renamed over it is another one
  const before = left();
  expect(documentOf(await part(args, "0/2", place))).toMatchObject({ state: "done", again: true });
  expect(left()).toBe(before);
  writeFileSync(first!, text(9)); // of another length, or of the same: its content counts
  expect(documentOf(await part(args, "0/2", place))).toMatchObject({ state: "done", again: false });
  expect(left()).not.toBe(before);
  const other = [...args.slice(0, -2), "--scale", "none", ...args.slice(-2)];
  expect(documentOf(await part(other, "0/2", place))).toMatchObject({ state: "done", again: false });
});

test("a part that waits for the others waits, however often it is run; input that changes meanwhile begins anew", async () => {
  const args = ["advantages", ...files(), ...GAE, "--batch", "all", "--out", folder.path("waits.jsonl")];
  const place = folder.path("waits.shards");
  for (const which of ["0/2", "1/2"])
    expect(documentOf(await part(args, which, place))).toMatchObject({ state: "waiting" });
  expect(documentOf(await part(args, "1/2", place))).toMatchObject({ state: "waiting", again: true, pass: 1 });
  expect(documentOf(await surprisal(["merge", place, "--json"]))).toMatchObject({ state: "again", pass: 2 });
  expect(documentOf(await part(args, "0/2", place))).toMatchObject({ state: "done", pass: 2 });
  const early = await surprisal(["merge", place]);
  expect(early).toMatchObject({ code: 1 });
  expect(early.stderr).toContain("run part 1 again");
  // The last file, of the same size: a digit of a reward.
  const changed = readFileSync(folder.path("file_4.jsonl"), "utf8").replace(/"reward":(-?0\.\d)\d/, '"reward":$17');
  writeFileSync(folder.path("file_4.jsonl"), changed);
  expect(documentOf(await part(args, "1/2", place))).toMatchObject({ state: "waiting", pass: 1 });
  expect((await surprisal(["merge", place])).stderr).toContain("run all parts again");
  await inParts(args, place, 2);
  const whole = folder.path("waits.whole.jsonl");
  expect(await surprisal([...args.slice(0, -1), whole])).toMatchObject({ code: 0 });
  expect(readFileSync(folder.path("waits.jsonl"), "utf8")).toBe(readFileSync(whole, "utf8"));
});

test("a group in two parts is refused by both, with its name where it is known; rows of one file are cut between groups", async () => {
  const shared = [folder.file("a.jsonl", text(5)), folder.file("b.jsonl", text(5))];
  const args = (given: readonly string[]) => [
    "advantages",
    ...given,
    "-e",
    "grpo",
    "--batch",
    "all",
    "--out",
    folder.path("shared.jsonl"),
  ];
  const place = folder.path("shared.shards");
  for (const which of ["0/2", "1/2"]) await part(args(shared), which, place);
  expect(await surprisal(["merge", place])).toMatchObject({ code: 0 });
  for (const which of ["0/2", "1/2"]) {
    const outcome = await surprisal([...args(shared), "--shard", which, "--shard-folder", place]);
    expect(outcome.code).toBe(1);
    expect(outcome.stderr).toContain('group "problem 0 of 5" has rollouts in parts 0 and 1');
  }
  expect(existsSync(folder.path("shared.jsonl"))).toBe(false);
  const joined = folder.file("joined.jsonl", text(5) + text(5));
  const { passes } = await inParts(args([joined]), folder.path("joined.shards"), 2);
  expect(passes).toBeGreaterThan(0);
});

test.each([
  [["--shard", "2/2"], {}, "the part is 2 of 2"],
  [["--shard", "0/0"], {}, "which is no part"],
  [["--shard", "first"], {}, "which is no part"],
  [["--shard", "4"], {}, "SLURM_ARRAY_TASK_ID"],
  [["--shard", "auto"], { SLURM_ARRAY_TASK_ID: "1" }, "SLURM_ARRAY_TASK_COUNT"],
  [["--shard", "4"], { JOB_COMPLETION_INDEX: "4" }, "the part is 4 of 4"],
])("%j in %j is refused: %s", async (flags, env, says) => {
  const args = ["advantages", ...files(), "-e", "grpo", "--out", folder.path("no.jsonl")];
  const outcome = await surprisal([...args, ...flags], { env });
  expect(outcome.code).toBe(2);
  expect(outcome.stderr).toContain(says);
  expect(existsSync(folder.path("no.jsonl.shards"))).toBe(false);
});

test.each([
  [["--shard", "2"], { JOB_COMPLETION_INDEX: "1" }, 1, 2],
  [
    ["--shard", "auto"],
    { SLURM_ARRAY_TASK_ID: "30", SLURM_ARRAY_TASK_MIN: "10", SLURM_ARRAY_TASK_STEP: "10", SLURM_ARRAY_TASK_COUNT: "4" },
    2,
    4,
  ],
  [["--shard", "3"], { OMPI_COMM_WORLD_RANK: "2", OMPI_COMM_WORLD_SIZE: "3" }, 2, 3],
])("%j in %j is a part", async (flags, env, shard, shards) => {
  const args = [
    "advantages",
    folder.path("file_[0-9].jsonl").replace("[0-9]", "?"),
    "-e",
    "grpo",
    "--out",
    folder.path(`env-${shards}.jsonl`),
  ];
  files();
  const outcome = await surprisal([...args, ...flags, "--json"], { env });
  expect(outcome).toMatchObject({ code: 0, stderr: "" });
  expect(documentOf(outcome)).toMatchObject({ shard, shards, state: "done" });
});

test("merge says which parts are missing, which are of other work, and where there are none", async () => {
  const place = folder.path("few.shards");
  const args = ["advantages", ...files(), "-e", "grpo", "--out", folder.path("few.jsonl")];
  expect((await surprisal(["merge", folder.path("none.shards")])).stderr).toContain("none.shards");
  await part(args, "1/4", place);
  expect((await surprisal(["merge", place])).stderr).toContain("parts 0, 2, 3 of 4 not there yet");
  for (const which of ["0/4", "2/4"]) await part(args, which, place);
  await part([...args, "--scale", "none"], "3/4", place);
  expect((await surprisal(["merge", place])).stderr).toContain("part 3 is of another command line");
  await part(args, "3/4", place);
  writeFileSync(`${place}/part-2.jsonl`, "{}\n");
  expect((await surprisal(["merge", place])).stderr).toContain("is not as its part left it");
  expect(existsSync(folder.path("few.jsonl"))).toBe(false);
});

test("what needs whole batches refuses one that lies in several parts, and standard input", async () => {
  const shard = ["--batch", "all", "--shard", "0/2", "--shard-folder", folder.path("whole.shards")];
  const made = folder.path("whole-made.jsonl");
  expect(await surprisal(["advantages", ...files(), "-e", "grpo", "--out", made])).toMatchObject({ code: 0 });
  for (const args of [
    ["loss", made, made, "-l", "ppo", "--clip", "0.2"],
    ["report", ...files(), "--out", folder.path("whole.html")],
  ])
    expect((await surprisal([...args, ...shard])).stderr).toMatch(/--batch is "all".*expected step or file/);
  expect((await surprisal(["advantages", "-", "-e", "grpo", ...shard])).stderr).toContain("standard input");
});

test.each<[string, readonly string[], Readonly<Record<string, string>>]>([
  ["a part", ["--shard", "0/2"], {}],
  ["all parts in one job", ["--shard", "mpi"], {}],
  [
    "a rank of several, which would all write the same file",
    [],
    { OMPI_COMM_WORLD_RANK: "1", OMPI_COMM_WORLD_SIZE: "2" },
  ],
  ["a rank of MPICH's", [], { PMI_RANK: "1", PMI_SIZE: "2" }],
])("logits in a tensor file are no work for %s", async (_, flags, env) => {
  const logits = folder.path("logits.npz");
  const shape = [2, 3];
  await writeTensors(logits, { logits: { dtype: "float32", shape, data: Float32Array.of(1, 2, 3, 4, 5, 6) } });
  const out = folder.path("entropies.npz");
  const refused = await surprisal(["entropy", logits, "--out", out, ...flags], { env });
  expect(refused).toMatchObject({ code: 2 });
  expect(refused.stderr).toContain("logits are computed a tensor file at a time");
  expect(existsSync(out)).toBe(false);
  expect(await surprisal(["entropy", logits], { env: { PMI_RANK: "0", PMI_SIZE: "1" } })).toMatchObject({ code: 0 });
});
