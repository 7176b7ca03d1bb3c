// JSON Lines as they come from other programs: broken, cut off, spread over lines, slow.
import { readFileSync, writeFileSync } from "node:fs";
import { gunzipSync, gzipSync } from "node:zlib";
import { readAllRollouts, readRollouts, type ReadProgress, type Rollout, writeRollouts } from "../../lib/io";
import { temporaryFolder } from "./folder";

const folder = temporaryFolder();
const lines = (...records: readonly unknown[]): string =>
  records.map((record) => `${JSON.stringify(record)}\n`).join("");
const bytes = (text: string): Buffer => Buffer.from(text, "utf8");

test.each([
  [{ token_ids: [1, 2.5] }, "token_ids[1] is 2.5"],
  [{ token_ids: [1, 2 ** 31] }, "token_ids[1] is 2147483648"],
  [{ token_ids: "1,2" }, 'token_ids is "1,2", expected an array'],
  [{ sampler_logprobs: [-1, null] }, "sampler_logprobs[1] is null"],
  [{ token_ids: [1, 2], sampler_logprobs: [-1] }, "sampler_logprobs.length is 1, expected 2, the length of token_ids"],
  [{ token_ids: [1], topk: { logprobs: [[-1], [-2]] } }, "topk.logprobs.length is 2, expected 1"],
  [{ token_ids: [1], topk: { logprobs: [[-1]], ids: [[1, 2]] } }, "topk.ids[0].length is 2, expected 1"],
  [{ token_ids: [1], mask: [2] }, "mask[0] is 2, expected 0 or 1"],
  [{ reward: "high" }, 'reward is "high"'],
  [{ rewards: { a: [] } }, "rewards.a is []"],
  [{ text: 5 }, "text is 5, expected a string"],
  [{ text: "", step: -1 }, "step is -1, expected an integer >= 0"],
  [{ text: "", group: {} }, "group is an object"],
  [
    { choices: [{ text: "", logprobs: { tokens: ["a"], token_logprobs: [] } }] },
    "choices[0].logprobs.token_logprobs.length is 0, expected 1",
  ],
  [
    { text: "", output_ids: [1], meta_info: { output_token_logprobs: [[-1, 2, null]] } },
    "meta_info.output_token_logprobs[0][1] is 2, expected 1",
  ],
  [
    { prompt_ids: [[1]], completion_ids: [[5]], logprobs: [[[-1]]], logprob_token_ids: [[[6]]] },
    "expected a list with the sampled token 5",
  ],
  [{ prompt_ids: [[1], [2]], completion_ids: [[5]] }, "completion_ids.length is 1, expected a multiple of 2"],
  [{ a: 1, b: 2 }, 'no known dialect has the fields ["a","b"]'],
  [7, "the record is 7, expected an object"],
])("a record that is wrong is refused with file, line and field: %j", async (record, message) => {
  const path = folder.at("wrong.jsonl");
  writeFileSync(path, lines({ text: "fine" }, record, { text: "fine" }));
  const error = await readAllRollouts(path).then(
    () => undefined,
    (reason: unknown) => reason as { code: string; message: string; details: { file: string; line: number } },
  );
  expect(error).toMatchObject({ code: "ERR_SURPRISAL_FILE", details: { file: path, line: 2 } });
  expect(error!.message).toContain(`readRollouts: ${path}:2: `);
  expect(error!.message).toContain(message);
  const skipped = await readAllRollouts(path, { malformed: "skip" });
  expect(skipped.rollouts).toEqual([{ text: "fine" }, { text: "fine" }]);
  expect(skipped.report).toMatchObject({ skipped: 1, lines: 3 });
  expect(skipped.report.warnings.filter(({ kind }) => kind === "skipped")).toMatchObject([{ line: 2 }]);
});

test.each(["plain.jsonl", "packed.jsonl.gz"])(
  "%s: a line a rollout, also past what is gathered for one write",
  async (name) => {
    const many = Array.from({ length: 700 }, (_, i): Rollout => ({ text: `${i} ${"x".repeat(1000)}` }));
    const report = await writeRollouts(folder.at(name), many);
    expect(report.rollouts).toBe(700);
    const raw = readFileSync(folder.at(name));
    const text = (name.endsWith(".gz") ? gunzipSync(raw) : raw).toString("utf8").split("\n");
    expect(text.pop()).toBe("");
    expect(text.map((line) => (JSON.parse(line) as { text: string }).text)).toEqual(many.map(({ text: own }) => own));
  },
);

test("a line that is no JSON, or no UTF-8, is an error in the middle", async () => {
  await expect(readAllRollouts(bytes('{"text":"a"}\n{"text":\n{"text":"b"}\n'))).rejects.toThrow(
    /<bytes>:2: the line is no JSON/,
  );
  const latin = Buffer.concat([bytes('{"text":"a"}\n{"text":"'), Buffer.of(0xe9), bytes('"}\n{"text":"b"}\n')]);
  await expect(readAllRollouts(latin)).rejects.toThrow(/<bytes>:2: the line is no UTF-8/);
});

test("whatever the byte at which it is cut off, what came before is read and the rest reported", async () => {
  const whole = bytes(lines({ text: "ä", reward: 1 }, { text: "b", token_ids: [1, 2] }));
  const first = whole.indexOf(10) + 1;
  for (let end = 0; end <= whole.length; ++end) {
    const { rollouts, report } = await readAllRollouts(whole.subarray(0, end));
    // A line is whole with its closing brace, newline or not.
    const count = end >= whole.length - 1 ? 2 : end >= first - 1 ? 1 : 0;
    expect([end, rollouts.length]).toEqual([end, count]);
    const inside = end !== 0 && end !== first && end !== first - 1 && end < whole.length - 1;
    expect(report.cutOff).toEqual(
      inside ? { line: end > first ? 2 : 1, bytes: end > first ? end - first : end } : undefined,
    );
    expect(report.warnings.map(({ kind }) => kind).filter((kind) => kind !== "note")).toEqual(
      inside ? ["cut-off"] : [],
    );
  }
});

test("gzip that is cut off gives what it holds; damage in the middle is an error", async () => {
  const text = lines(
    ...Array.from({ length: 2000 }, (_, i) => ({ text: `completion ${(i * 7919) % 1009}`, reward: i })),
  );
  const packed = gzipSync(text);
  expect((await readAllRollouts(packed)).rollouts).toHaveLength(2000);
  for (const share of [0.2, 0.5, 0.9]) {
    const { rollouts, report } = await readAllRollouts(packed.subarray(0, Math.floor(packed.length * share)));
    expect(rollouts.length).toBeGreaterThan(2000 * share * 0.5);
    expect(rollouts.length).toBeLessThan(2000);
    expect(report.gzip).toBe(true);
    expect(report.cutOff).toBeDefined();
    expect(rollouts.every(({ reward }, i) => reward === i)).toBe(true);
  }
  const damaged = Buffer.from(packed);
  damaged.fill(0xff, packed.length >> 1, (packed.length >> 1) + 40);
  await expect(readAllRollouts(damaged)).rejects.toMatchObject({ code: "ERR_SURPRISAL_FILE" });
  await expect(readAllRollouts(damaged, { malformed: "skip" })).rejects.toThrow(/gzip data is damaged/);
  // Logs that are appended to are several gzip members.
  expect((await readAllRollouts(Buffer.concat([packed, packed]))).rollouts).toHaveLength(4000);
});

test("a line longer than the limit is refused or left out, and never held", async () => {
  const text = lines({ text: "a" }, { text: "x".repeat(5000) }, { text: "b" });
  await expect(readAllRollouts(bytes(text), { maxRecordBytes: 1000 })).rejects.toThrow(
    /:2: the line's length is 5011, expected at most 1000 bytes; the option maxRecordBytes/,
  );
  const { rollouts } = await readAllRollouts(bytes(text), { maxRecordBytes: 1000, malformed: "skip" });
  expect(rollouts).toEqual([{ text: "a" }, { text: "b" }]);
});

test("blank lines, \\r\\n, a byte order mark, a missing last newline and Python's NaN are all read", async () => {
  const text = `\ufeff{"text":"a\\u2028","reward":NaN}\r\n\r\n\n{"text":"NaN \\" Infinity","rewards":{"x":-Infinity,"y":Infinity}}`;
  const { rollouts, report } = await readAllRollouts(bytes(text));
  expect(rollouts).toEqual([
    { text: "a\u2028", reward: NaN },
    { text: 'NaN " Infinity', rewards: { x: -Infinity, y: Infinity } },
  ]);
  expect(report.lines).toBe(4);
});

test("a byte order mark is one at the beginning alone, and all of it", async () => {
  const record = `{"text":"a"}`;
  await expect(readAllRollouts(bytes(`${record}\n\ufeff${record}\n`))).rejects.toThrow(/:2: /);
  for (const other of ["\uff61", "\ufec0"])
    // as long, and with its first byte or two
    await expect(readAllRollouts(bytes(`${other}${record}\n`))).rejects.toThrow(/:1: /);
});

test("one document over many lines, and a list on one line, are read as well", async () => {
  const records = [{ text: "a" }, { text: "b", reward: 1 }];
  expect((await readAllRollouts(bytes(JSON.stringify(records)))).rollouts).toEqual(records);
  expect((await readAllRollouts(bytes(JSON.stringify(records, null, 2)))).rollouts).toEqual(records);
  expect((await readAllRollouts(bytes(JSON.stringify(records[1], null, 2)))).rollouts).toEqual([records[1]]);
  await expect(readAllRollouts(bytes("{\n  broken"))).rejects.toThrow(/:1: the document that begins here is no JSON/);
  await expect(readAllRollouts(bytes(JSON.stringify(records, null, 2)), { maxRecordBytes: 20 })).rejects.toThrow(
    /the document's length/,
  );
});

test("a source is cut into pieces anywhere: lines and characters come out whole", async () => {
  const text = bytes(lines({ text: "äöü😀" }, { text: "b" }));
  async function* single(): AsyncGenerator<Uint8Array> {
    for (const byte of text) yield await Promise.resolve(Uint8Array.of(byte));
  }
  expect((await readAllRollouts(single())).rollouts).toEqual([{ text: "äöü😀" }, { text: "b" }]);
  async function* packed(): AsyncGenerator<Uint8Array> {
    for (const byte of gzipSync(text)) yield await Promise.resolve(Uint8Array.of(byte));
  }
  expect((await readAllRollouts(packed())).rollouts).toEqual([{ text: "äöü😀" }, { text: "b" }]);
});

test("unknown fields are kept in meta, and said once", async () => {
  const { rollouts, report } = await readAllRollouts(
    bytes(lines({ text: "a", log_probs: [1] }, { text: "b", log_probs: [2], meta: { x: 1 } })),
  );
  expect(rollouts).toEqual([
    { text: "a", meta: { log_probs: [1] } },
    { text: "b", meta: { x: 1, log_probs: [2] } },
  ]);
  expect(report.warnings).toEqual([
    {
      kind: "note",
      message: "<bytes>:1: log_probs: is not a field of the record; it is kept in meta",
      line: 1,
      field: "log_probs",
    },
  ]);
});

test("two dialects in one source are read and reported", async () => {
  const { rollouts, report } = await readAllRollouts(
    bytes(lines({ text: "a" }, { input: "p", output: "c", score: 1 })),
  );
  expect(rollouts.map(({ text }) => text)).toEqual(["a", "c"]);
  expect(report.warnings.map(({ kind }) => kind)).toContain("mixed-dialects");
});

test("nothing is read ahead of the reader: a source is asked for a piece when the last one is used up", async () => {
  let given = 0;
  async function* source(): AsyncGenerator<string> {
    for (; given < 1000; ++given) yield await Promise.resolve(lines({ text: String(given) }));
  }
  let taken = 0;
  for await (const _ of readRollouts(source())) {
    ++taken;
    expect(given).toBeLessThanOrEqual(taken + 1);
  }
  expect(taken).toBe(1000);
});

test("leaving the loop early closes the source", async () => {
  let closed = false;
  async function* source(): AsyncGenerator<string> {
    try {
      for (;;) yield await Promise.resolve(lines({ text: "a" }));
    } finally {
      closed = true;
    }
  }
  for await (const _ of readRollouts(source())) break;
  expect(closed).toBe(true);
});

test("an abort ends the reading with its reason, even where the source has stopped answering", async () => {
  const abort = new AbortController();
  async function* stalled(): AsyncGenerator<string> {
    yield lines({ text: "a" });
    // Asked for more: the first record was read.
    setImmediate(() => abort.abort(new Error("enough")));
    await new Promise(() => undefined);
  }
  const taken: Rollout[] = [];
  const reading = (async () => {
    for await (const rollout of readRollouts(stalled(), { signal: abort.signal })) taken.push(rollout);
  })();
  await expect(reading).rejects.toThrow("enough");
  expect(taken).toEqual([{ text: "a" }]);
  await expect(readAllRollouts(bytes("{}\n"), { signal: AbortSignal.abort(new Error("before")) })).rejects.toThrow(
    "before",
  );
});

test("progress is told now and then and at the end, with the size of a file", async () => {
  const path = folder.at("progress.jsonl");
  writeFileSync(path, lines({ text: "a" }, { text: "b" }));
  const calls: ReadProgress[] = [];
  await readAllRollouts(path, { onProgress: (progress) => calls.push(progress) });
  const size = lines({ text: "a" }, { text: "b" }).length;
  expect(calls.at(-1)).toEqual({ bytes: size, totalBytes: size, rollouts: 2 });
  expect(calls.length).toBeLessThan(3);
});

test("what cannot be opened is named, options are checked at once, a reader is read once", async () => {
  await expect(readAllRollouts(folder.at("missing.jsonl"))).rejects.toThrow(/missing\.jsonl cannot be opened \(ENOENT/);
  await expect(readAllRollouts(folder.at("."))).rejects.toMatchObject({ code: "ERR_SURPRISAL_FILE" });
  for (const options of [{ from: "other" }, { malformed: "ignore" }, { format: "csv" }, { maxRecordBytes: 0 }])
    expect(() => readRollouts(bytes(""), options as object)).toThrow(
      expect.objectContaining({ code: "ERR_SURPRISAL_OPTION" }) as Error,
    );
  expect(() => readRollouts("")).toThrow(/source is ""/);
  const reader = readRollouts(bytes("{}"), { from: "surprisal" });
  for await (const _ of reader);
  expect(() => reader[Symbol.asyncIterator]()).toThrow(/iterated before/);
});

test("a number that is an int64 is range-checked, not rounded into another id", async () => {
  await expect(readAllRollouts(bytes('{"token_ids":[9007199254740993]}\n'))).rejects.toThrow(
    /token_ids\[0\] is 9007199254740992, expected an integer within/,
  );
});

test("a character that two strings of a stream share comes out whole, and half of one as the sign for it", async () => {
  const text = lines({ text: "a\u{1f600}b" });
  const cut = text.indexOf("\u{1f600}") + 1;
  async function* chunks(...parts: readonly (string | Uint8Array)[]): AsyncGenerator<string | Uint8Array> {
    for (const part of parts) yield await Promise.resolve(part);
  }
  const whole = await readAllRollouts(chunks(text.slice(0, cut), text.slice(cut)));
  expect(whole.rollouts[0]!.text).toBe("a\u{1f600}b");
  const half = await readAllRollouts(chunks(text.slice(0, cut), bytes(text.slice(cut + 1))));
  expect(half.rollouts[0]!.text).toBe("a\ufffdb");
});

test("a record that is nested too deeply for the stack is malformed like any other", async () => {
  const deep = `{"text":"x","meta":${"[".repeat(200_000)}${"]".repeat(200_000)}}\n`;
  const text = lines({ text: "first" }) + deep + lines({ text: "last" });
  await expect(readAllRollouts(bytes(text))).rejects.toThrow(
    /:2: meta is \[\[\[an array of 1\]\]\], expected an object$/,
  );
  const { rollouts, report } = await readAllRollouts(bytes(text), { malformed: "skip" });
  expect(rollouts.map((rollout) => rollout.text)).toEqual(["first", "last"]);
  expect(report.skipped).toBe(1);
});

test("an abort is seen between lines, however many of them a piece of gzip holds", async () => {
  const size = 8 * 1024 * 1024;
  const controller = new AbortController();
  const reader = readRollouts(gzipSync(Buffer.alloc(size, "\n")), { signal: controller.signal });
  const rest = (async () => {
    for await (const rollout of reader) expect(rollout).toBeUndefined(); // no line holds one
  })();
  setImmediate(() => controller.abort(new Error("enough")));
  await expect(rest).rejects.toThrow("enough");
  expect(reader.report.lines).toBeLessThan(size);
});
