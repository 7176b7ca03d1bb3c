// Bytes behind the end of compressed data: a stream of zlib takes no more then, and calls nobody back.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createGunzip, createInflateRaw, deflateRawSync, gzipSync } from "node:zlib";
import { readAllRollouts, readTensors } from "../../lib/io";
import { ZlibSteps } from "../../lib/io/zlib-steps";

const content = Buffer.from("deflated ".repeat(5000));
const MUCH = 100_000; // bytes: many steps
const FORMATS = {
  gzip: [createGunzip, gzipSync(content)],
  deflate: [createInflateRaw, deflateRawSync(content)],
} as const;

async function gathered(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all);
}

describe.each(Object.entries(FORMATS))("%s", (_, [open, packed]) => {
  test.each([
    ["in one piece", [Buffer.concat([packed, Buffer.alloc(MUCH)])]],
    ["in pieces of their own", [packed, Buffer.alloc(MUCH), Buffer.alloc(1)]],
  ])("what was packed comes out, and every step ends: %s", async (_case, pieces) => {
    const steps = new ZlibSteps(open());
    const out: Buffer[] = [];
    for (const piece of pieces) out.push(await gathered(steps.push(piece)));
    expect(steps.over).toBe(true);
    out.push(await gathered(steps.end()));
    expect(Buffer.concat(out)).toEqual(content);
    expect(steps.error).toBeUndefined();
    steps.close();
  });

  test("without any it is over at its end", async () => {
    const steps = new ZlibSteps(open());
    const out = await gathered(steps.push(packed));
    expect(steps.over).toBe(false);
    expect(Buffer.concat([out, await gathered(steps.end())])).toEqual(content);
    expect(steps.over).toBe(true);
  });
});

test("rollouts that are gzipped, with zeros behind them", async () => {
  const lines = Array.from({ length: 50 }, (_, i) => `${JSON.stringify({ text: `${i}` })}\n`).join("");
  const file = Buffer.concat([gzipSync(lines), Buffer.alloc(MUCH)]);
  expect((await readAllRollouts(file)).rollouts).toHaveLength(50);
});

// Found by the fuzzer of parsers: readTensors never ended.
test.each(["c1b6ee88d658", "ef2d30375096"])(
  "a member of an archive with bytes behind its data is refused: %s",
  async (name) => {
    const file = readFileSync(join(__dirname, "../fuzz/corpus/parsers/npz", name));
    await expect(readTensors(file)).rejects.toThrow(/deflated data is damaged \(there are bytes behind its end\)/);
  },
);
