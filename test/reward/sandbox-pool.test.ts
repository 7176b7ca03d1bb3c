// Which processes of a pool serve a program, without starting any.
import { SandboxPool } from "../../lib/reward/code/sandbox";
import { SandboxProcess } from "../../lib/reward/code/sandbox-process";

interface Started {
  alive: boolean;
  kills: number;
  serves: number;
}

let started: Started[];

beforeEach(() => {
  started = [];
  jest.spyOn(SandboxProcess, "start").mockImplementation(() => {
    const process: Started = { alive: true, kills: 0, serves: 0 };
    started.push(process);
    return Promise.resolve({
      get alive() {
        return process.alive;
      },
      kill: () => void ++process.kills,
      serveTests: () => void ++process.serves,
    } as unknown as SandboxProcess);
  });
});
afterEach(() => jest.restoreAllMocks());

const poolOf = (workers: number) => new SandboxPool("codeReward", { workers, system: "permissions" });
const killed = () => started.filter(({ kills }) => kills > 0).length;

test("a program has one process, or with tests apart two, the second for them; all end with it", async () => {
  const pool = poolOf(1);
  expect(await pool.use("javascript", false, undefined, ({ tests }) => Promise.resolve(tests === undefined))).toBe(
    true,
  );
  expect([killed(), started.filter(({ serves }) => serves > 0).length]).toEqual([1, 0]);
  expect(
    await pool.use("javascript", true, undefined, ({ program, tests }) => Promise.resolve(program !== tests)),
  ).toBe(true);
  expect([killed(), started.filter(({ serves }) => serves > 0).length]).toEqual([3, 1]);
});

test("a process that has died while it waited is passed over", async () => {
  const pool = poolOf(1);
  await pool.use("python", false, undefined, () => Promise.resolve());
  for (const process of started) process.alive = false;
  const before = started.length;
  await pool.use("python", false, undefined, () => Promise.resolve());
  expect(started.length).toBeGreaterThan(before);
  expect(started.slice(0, before).filter(({ kills }) => kills > 0)).toHaveLength(1);
});

test("no more programs run than there are workers", async () => {
  const pool = poolOf(2);
  let [running, most] = [0, 0];
  const work = async () => {
    most = Math.max(most, ++running);
    await new Promise(setImmediate);
    --running;
  };
  await Promise.all(Array.from({ length: 6 }, () => pool.use("javascript", false, undefined, work)));
  expect([most, killed()]).toEqual([2, 6]);
});

test("an abort ends the processes and is its reason; the next program runs", async () => {
  const pool = poolOf(1);
  const caller = new AbortController();
  const held = pool.use("javascript", true, caller.signal, () => {
    caller.abort(new Error("enough"));
    expect(killed()).toBe(2);
    return Promise.resolve();
  });
  await expect(held).rejects.toThrow("enough");
  await pool.use("javascript", false, undefined, () => Promise.resolve());
});
