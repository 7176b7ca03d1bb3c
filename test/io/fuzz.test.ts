// Anything at all as input: an answer or an error that names the file, soon, and in bounded memory.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { readAllRollouts, readTensors, writeRollouts, writeTensors } from "../../lib/io";
import { npyParts } from "../../lib/io/npy";
import { ZipWriter } from "../../lib/io/zip";
import { temporaryFolder } from "./folder";

const folder = temporaryFolder();
const MIB = 1024 * 1024;

/**
 * Reads, and takes an error of ours for an answer. Anything else that is thrown fails the test. The limit is of seconds that the
 * processor worked: a busy machine makes nobody late, and who waits for ever is ended by the test's own limit.
 */
async function survives(read: () => Promise<unknown>, limit = 10): Promise<void> {
  const before = process.memoryUsage();
  const start = process.cpuUsage();
  try {
    await read();
  } catch (error) {
    expect(error).toMatchObject({ name: "SurprisalError", code: "ERR_SURPRISAL_FILE" });
  }
  const { user, system } = process.cpuUsage(start);
  expect((user + system) / 1e6).toBeLessThan(limit);
  const after = process.memoryUsage();
  expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(256 * MIB);
  expect(after.heapUsed - before.heapUsed).toBeLessThan(512 * MIB);
}

const samples = [
  "verl.jsonl",
  "trl-server.jsonl",
  "llama-chat.jsonl",
  "openai-completions.jsonl",
  "vllm-chat.jsonl",
  "sglang.jsonl",
  "surprisal.jsonl",
];
const sample = (name: string): Buffer => readFileSync(join(__dirname, "samples", name));

/** A few bytes of a file changed, and perhaps its end cut off. */
const damage = fc.record({
  edits: fc.array(fc.tuple(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), fc.nat({ max: 255 })), {
    maxLength: 6,
  }),
  keep: fc.oneof(fc.constant(1), fc.double({ min: 0, max: 1, noNaN: true })),
});

function damaged(file: Buffer, { edits, keep }: { edits: [number, number][]; keep: number }): Buffer {
  const copy = Buffer.from(file.subarray(0, Math.ceil(file.length * keep)));
  for (const [where, byte] of edits) if (copy.length > 0) copy[Math.floor(where * copy.length)] = byte;
  return copy;
}

test("random bytes", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uint8Array({ maxLength: 300 }),
      fc.constantFrom("", "PAR1", "PK\u0003\u0004", "\u001f\u008b\u0008", '{"'),
      async (bytes, head) => {
        const file = Buffer.concat([Buffer.from(head, "latin1"), bytes]);
        await survives(() => readAllRollouts(file));
        await survives(() => readTensors(file));
      },
    ),
    { numRuns: 400 },
  );
});

test("records of every dialect with anything in place of any value", async () => {
  const records = samples.flatMap((name) =>
    sample(name)
      .toString()
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line.replaceAll("NaN", "null")) as object),
  );
  const junk = fc.oneof(
    fc.jsonValue({ maxDepth: 3 }),
    fc.constantFrom(null, -1, 1e308, "token_id:99999999999", [], [[]], [null], {}, [{}]),
  );
  /** The value with one of its inner values, chosen by `path`, replaced. */
  const replace = (value: unknown, path: readonly number[], by: unknown): unknown => {
    const [step, ...rest] = path;
    if (step === undefined || typeof value !== "object" || value === null) return by;
    const keys = Object.keys(value);
    const key = keys[step % keys.length];
    if (key === undefined) return by;
    const copy: Record<string, unknown> = Array.isArray(value)
      ? (Object.assign([], value) as unknown as Record<string, unknown>)
      : { ...value };
    copy[key] = replace(copy[key], rest, by);
    return copy;
  };
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...records),
      fc.array(fc.nat({ max: 20 }), { minLength: 1, maxLength: 6 }),
      junk,
      async (record, path, by) => {
        await survives(() => readAllRollouts(Buffer.from(`${JSON.stringify(replace(record, path, by))}\n`)));
      },
    ),
    { numRuns: 1500 },
  );
});

test("JSON Lines and gzip with bytes changed and ends cut off", async () => {
  const files = samples.flatMap((name) => [sample(name), gzipSync(sample(name))]);
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...files), damage, async (file, how) => {
      await survives(() => readAllRollouts(damaged(file, how)));
      await survives(() => readAllRollouts(damaged(file, how), { malformed: "skip" }));
    }),
    { numRuns: 400 },
  );
});

test("safetensors and npz with bytes changed and ends cut off", async () => {
  const rollouts = (await readAllRollouts(Buffer.from(sample("surprisal.jsonl")))).rollouts;
  const names = ["a.safetensors", "a.npz"];
  for (const name of names) await writeRollouts(folder.at(name), rollouts);
  await writeTensors(
    folder.at("b.npz"),
    { x: { dtype: "float32", shape: [20], data: new Float32Array(20) } },
    { compress: true },
  );
  const files: Buffer[] = [...[...names, "b.npz"].map((name) => readFileSync(folder.at(name))), sample("kinds.npz")];
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...files), damage, async (file, how) => {
      const bytes = damaged(file, how);
      await survives(() => readAllRollouts(bytes));
      await survives(() => readTensors(bytes));
    }),
    { numRuns: 400 },
  );
});

test("Parquet with bytes changed and ends cut off", async () => {
  await writeRollouts(folder.at("a.parquet"), (await readAllRollouts(sample("surprisal.jsonl"))).rollouts);
  const files = [readFileSync(folder.at("a.parquet")), sample("trl.parquet")];
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...files), damage, async (file, how) => {
      await survives(() => readAllRollouts(damaged(file, how)), 30);
    }),
    // The same bytes every time: one that makes the reader run for ever costs the seconds of its limit.
    { numRuns: 50, seed: 1 },
  );
});

test("a Parquet file that makes its reader run for ever is given up, and the event loop goes on", async () => {
  const { rollouts } = await readAllRollouts(sample("surprisal.jsonl"));
  await writeRollouts(
    folder.at("many.parquet"),
    Array.from({ length: 40 }, (_, i) => ({ ...rollouts[i % 2]!, reward: i })),
  );
  const file = readFileSync(folder.at("many.parquet"));
  // In the header of a page, found by changing bytes at random.
  file[86] = 114;
  await survives(() => readAllRollouts(file), 30);
  // Another turn of the loop, while the reader runs, ends it.
  const abort = new AbortController();
  const reading = readAllRollouts(file, { signal: abort.signal });
  setImmediate(() => abort.abort(new Error("enough")));
  await expect(reading).rejects.toThrow("enough");
});

const header = (value: unknown): Buffer => {
  const text = Buffer.from(JSON.stringify(value));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([length, text, Buffer.alloc(16)]);
};

test.each([
  ["a header of 2^40 bytes", Buffer.concat([Buffer.of(0, 0, 0, 0, 0, 1, 0, 0), Buffer.from("{}")])],
  ["a header of almost 100 MB", Buffer.concat([Buffer.of(0, 0, 0, 5, 0, 0, 0, 0), Buffer.from("{}")])],
  ["a shape of 2^60 elements", header({ x: { dtype: "F32", shape: [2 ** 30, 2 ** 30], data_offsets: [0, 16] } })],
  [
    "a shape whose product overflows",
    header({ x: { dtype: "F64", shape: [2 ** 53, 2 ** 53, 2 ** 53], data_offsets: [0, 16] } }),
  ],
  ["offsets outside", header({ x: { dtype: "F32", shape: [2 ** 28], data_offsets: [0, 2 ** 30] } })],
  ["offsets that go down", header({ x: { dtype: "F32", shape: [4], data_offsets: [16, 0] } })],
  [
    "tensors that overlap",
    header({
      x: { dtype: "F32", shape: [4], data_offsets: [0, 16] },
      y: { dtype: "F32", shape: [1], data_offsets: [0, 4] },
    }),
  ],
  ["a gap", header({ x: { dtype: "F32", shape: [1], data_offsets: [12, 16] } })],
  ["no dtype", header({ x: { shape: [4], data_offsets: [0, 16] } })],
  ["a size that is no integer", header({ x: { dtype: "U8", shape: [1.5], data_offsets: [0, 16] } })],
])("safetensors that declares %s is refused before memory is taken", async (_, file) => {
  const before = process.memoryUsage().arrayBuffers;
  await expect(readTensors(file)).rejects.toMatchObject({
    code: "ERR_SURPRISAL_FILE",
    message: expect.stringContaining("<bytes>") as string,
  });
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(MIB);
});

/** The archive with a number of its directory replaced. */
function withSize(archive: Buffer, at: number, size: number): Buffer {
  const copy = Buffer.from(archive);
  copy.writeUInt32LE(size, copy.indexOf(Buffer.of(0x50, 0x4b, 1, 2)) + at);
  return copy;
}

test("an archive that declares more than can come out of it is refused before memory is taken", async () => {
  await writeTensors(
    folder.at("c.npz"),
    { x: { dtype: "float64", shape: [4], data: new Float64Array(4) } },
    { compress: true },
  );
  const archive = readFileSync(folder.at("c.npz"));
  const before = process.memoryUsage().arrayBuffers;
  await expect(readTensors(withSize(archive, 24, 0xfffffff0))).rejects.toThrow(
    /x\.npy: size is 4294967280, expected at most/,
  );
  await expect(readTensors(withSize(archive, 20, 0xfffffff0))).rejects.toThrow(/x\.npy: packed size/);
  // Less than it has: the rest is not unpacked.
  await expect(readTensors(withSize(archive, 24, 100))).rejects.toThrow(/x.header length is 118, expected at most/);
  const crc = archive.readUInt32LE(archive.indexOf(Buffer.of(0x50, 0x4b, 1, 2)) + 16);
  await expect(readTensors(withSize(archive, 16, (crc ^ 1) >>> 0))).rejects.toThrow(/checksum/);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8 * MIB);
  await expect(readTensors(archive, { maxBytes: 100 })).rejects.toThrow(/option maxBytes/);
});

test("a member that goes on behind its declared end is refused", async () => {
  const parts: Uint8Array[] = [];
  const file = {
    get bytes() {
      return Buffer.concat(parts).length;
    },
    write: (data: Uint8Array | string) => Promise.resolve(void parts.push(Buffer.from(data as Uint8Array))),
  };
  const whole = npyParts({ dtype: "uint8", shape: [4], data: new Uint8Array(4) });
  const zip = new ZipWriter(file);
  await zip.add("x.npy", [...whole, Buffer.alloc(100_000)], true);
  await zip.finish();
  const declared = withSize(Buffer.concat(parts), 24, Buffer.concat(whole).length);
  await expect(readTensors(declared)).rejects.toThrow(/x\.npy: its data is longer than declared/);
});

test("an array that ends within its first bytes is refused", async () => {
  for (const length of [0, 5, 6, 7, 9]) {
    writeFileSync(folder.at("short.npy"), Buffer.from("\x93NUMPY\x01\x00\x76\x00", "latin1").subarray(0, length));
    await expect(readTensors(folder.at("short.npy"))).rejects.toMatchObject({ code: "ERR_SURPRISAL_FILE" });
  }
});

test("a gzip bomb is read in bounded memory", async () => {
  // 256 MiB of one line from 256 KiB: longer than a record may be.
  const bomb = gzipSync(Buffer.alloc(256 * MIB, "x"));
  expect(bomb.length).toBeLessThan(MIB);
  let most = 0;
  const watch = setInterval(() => {
    most = Math.max(most, process.memoryUsage().arrayBuffers);
  }, 1);
  const before = process.memoryUsage().arrayBuffers;
  await expect(
    readAllRollouts(bomb, { maxRecordBytes: MIB, from: "surprisal", malformed: "skip" }),
  ).resolves.toMatchObject({ rollouts: [] });
  clearInterval(watch);
  // What is unpacked at a time, and what the collector has not taken yet.
  expect(most - before).toBeLessThan(96 * MIB);
});

test("deep nesting and very many small values are refused or read, soon", async () => {
  const deep = (n: number): string => `{"text":"a","meta":{"x":${"[".repeat(n)}${"]".repeat(n)}}}\n`;
  await survives(() => readAllRollouts(Buffer.from(deep(200_000))));
  await survives(() => readAllRollouts(Buffer.from(`{"text":"a","meta":{"x":${"[".repeat(500_000)}`)));
  await survives(() => readAllRollouts(Buffer.from(`{"topk":{"logprobs":[${"[],".repeat(300_000)}[]]}}\n`)));
  // What cannot be written again says so, and does not overflow the stack.
  const { rollouts } = await readAllRollouts(Buffer.from(deep(100_000)));
  await expect(writeRollouts(folder.at("deep.jsonl"), rollouts)).rejects.toMatchObject({ code: "ERR_SURPRISAL_VALUE" });
  writeFileSync(folder.at("one-line.jsonl"), "[".repeat(1_000_000));
  await survives(() => readAllRollouts(folder.at("one-line.jsonl")));
});
