// surprisal reward --serve as a process that is killed at its work and started again at the same port.
import { spawn, type ChildProcess } from "node:child_process";
import { remoteReward } from "../../lib/experience";
import { distFile } from "../support/dist";
import { HANG_MS } from "../support/hang";

const main = distFile("cli", "main.js");

interface Started {
  readonly child: ChildProcess;
  readonly address: string;
}

const started: ChildProcess[] = [];
afterAll(() => {
  for (const child of started) child.kill("SIGKILL");
});

function start(port: string): Promise<Started> {
  const child = spawn(
    process.execPath,
    [main, "reward", "--serve", "--scorer", "math", "--port", port, "--queue", "1"],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  started.push(child);
  return new Promise((resolve, reject) => {
    let said = "";
    child.stdout.on("data", (text: Buffer) => {
      said += text.toString();
      const [address] = /http:\/\/\S+/.exec(said) ?? [];
      if (address !== undefined) resolve({ child, address });
    });
    child.on("error", reject);
    child.on("close", () => reject(new Error(`it ended: ${said}`)));
  });
}

test(
  "one of two servers is killed, and started again: every row has its one reward",
  async () => {
    const [one, other] = await Promise.all([start("0"), start("0")]);
    const rows = Array.from({ length: 400 }, (_, i) => ({ completion: `\\boxed{${i}}`, answer: String(i - (i % 3)) }));
    let results: Promise<unknown> = Promise.resolve();
    const asked = new Promise<void>((first) => {
      const reward = remoteReward([one.address, other.address], {
        batchSize: 4,
        concurrency: 8,
        retries: 10_000,
        backoff: 1,
        failures: 1,
        rest: 1,
        read(answer, batch) {
          first(); // some are judged, others on their way
          const { rewards } = answer as { rewards: number[] };
          expect(rewards).toHaveLength(batch.length);
          return rewards;
        },
      });
      results = Promise.resolve(reward(rows as never, { signal: undefined } as never));
    });
    await asked;
    const gone = new Promise((done) => one.child.on("exit", done));
    one.child.kill("SIGKILL");
    await gone;
    const again = await start(new URL(one.address).port);
    expect(again.address).toBe(one.address);
    expect(await results).toEqual(rows.map((_, i) => (i % 3 === 0 ? 1 : 0)));
    const end = new Promise((done) => again.child.on("exit", done));
    again.child.kill("SIGTERM");
    expect(await end).toBe(0);
  },
  HANG_MS,
);
