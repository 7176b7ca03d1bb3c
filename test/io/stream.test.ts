// A source far larger than what is in memory: 64 MiB as they come, and a slow reader at the end of a pipe.
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { gzipSync } from "node:zlib";
import { readRollouts, SamplerGapMeter, writeRollouts, type Rollout } from "../../lib/io";
import { temporaryFolder } from "./folder";

const folder = temporaryFolder();
const MIB = 1024 * 1024;
const SIZE = 64 * MIB;

/** One line of about 16 KiB. */
const T = 800;
const line = Buffer.from(
  `${JSON.stringify({
    group: "p",
    token_ids: Array.from({ length: T }, (_, t) => (t * 7919) % 151936),
    sampler_logprobs: Array.from({ length: T }, (_, t) => -Math.abs(Math.sin(t))),
    reward: 1,
  })}\n`,
);

async function* lines(total: number): AsyncGenerator<Uint8Array> {
  for (let sent = 0; sent < total; sent += line.length) yield await Promise.resolve(line);
}

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** The most that is held in memory while something runs, beyond what was there before; looked at every few rollouts. */
function watch(): { look: () => void; most: () => number } {
  const now = (): number => {
    collectGarbage();
    return process.memoryUsage().heapUsed + process.memoryUsage().external;
  };
  const before = now();
  let most = 0;
  return { look: () => (most = Math.max(most, now() - before)), most: () => most };
}

test("64 MiB of JSON Lines are read and measured in a fraction of that memory", async () => {
  const memory = watch();
  const meter = new SamplerGapMeter({ against: "oldLogProbs" });
  let count = 0;
  const reader = readRollouts(lines(SIZE));
  for await (const rollout of reader) {
    meter.add(rollout);
    if (++count % 50 === 0) memory.look();
  }
  expect(reader.report.bytes).toBeGreaterThanOrEqual(SIZE);
  expect(count).toBe(Math.ceil(SIZE / line.length));
  expect(meter.result().incomplete).toBe(count);
  expect(memory.most()).toBeLessThan(40 * MIB);
});

test("a stream of Node, gzip, a writer: each takes what the next one has room for", async () => {
  const packed = gzipSync(Buffer.concat(Array.from({ length: 600 }, () => line)));
  async function* repeated(): AsyncGenerator<Uint8Array> {
    for (let i = 0; i < 2; ++i) yield await Promise.resolve(packed);
  }
  const memory = watch();
  async function* looked(): AsyncGenerator<Rollout> {
    let count = 0;
    for await (const rollout of readRollouts(repeated())) {
      if (++count % 50 === 0) memory.look();
      yield rollout;
    }
  }
  const report = await writeRollouts(folder.at("out.jsonl"), looked());
  expect(report.rollouts).toBe(1200);
  expect((await stat(folder.at("out.jsonl"))).size).toBe(report.bytes);
  expect(memory.most()).toBeLessThan(40 * MIB);
  let again = 0;
  for await (const rollout of readRollouts(createReadStream(folder.at("out.jsonl")))) again += rollout.tokenIds!.length;
  expect(again).toBe(1200 * T);
});
