// What is written is read again with every bit that the layout can hold.
import { readdirSync } from "node:fs";
import { dirname } from "node:path";
import fc from "fast-check";
import { readAllRollouts, type Rollout, writeRollouts } from "../../lib/io";
import { rollouts } from "./arbitrary";
import { temporaryFolder } from "./folder";

const folder = temporaryFolder();

const RUNS = { "a.jsonl": 150, "b.jsonl.gz": 40, "c.npz": 60, "d.safetensors": 60, "e.parquet": 40 } as const;

test.each(Object.entries(RUNS))("%s gives back every field of any rollout", async (name, numRuns) => {
  await fc.assert(
    fc.asyncProperty(rollouts, async (written) => {
      const path = folder.at(name);
      const report = await writeRollouts(path, written);
      expect(report.rollouts).toBe(written.length);
      const read = await readAllRollouts(path, { from: "surprisal" });
      // toEqual holds -0 apart from 0 and takes NaN for NaN.
      expect(read.rollouts).toEqual(written);
      expect(read.report).toMatchObject({ rollouts: written.length, skipped: 0, cutOff: undefined, warningCount: 0 });
    }),
    { numRuns },
  );
});

test("one layout into the next changes nothing", async () => {
  const first: Rollout[] = fc.sample(rollouts, { seed: 7, numRuns: 20 }).flat();
  let current = first;
  for (const name of ["1.parquet", "2.npz", "3.jsonl.gz", "4.safetensors", "5.jsonl"]) {
    await writeRollouts(folder.at(name), current);
    current = (await readAllRollouts(folder.at(name), { from: "surprisal" })).rollouts;
  }
  expect(current).toEqual(first);
});

test("Parquet files of several row groups keep the order", async () => {
  const many = Array.from({ length: 2500 }, (_, i): Rollout => ({
    group: i >> 2,
    tokenIds: Int32Array.of(i, i + 1),
    reward: i,
  }));
  await writeRollouts(folder.at("many.parquet"), many);
  expect((await readAllRollouts(folder.at("many.parquet"))).rollouts).toEqual(many);
});

test("a Parquet column has one type: text and numbers as groups do not mix", async () => {
  const mixed: Rollout[] = [{ group: "a" }, { group: 1 }];
  await expect(writeRollouts(folder.at("mixed.parquet"), mixed)).rejects.toMatchObject({
    code: "ERR_SURPRISAL_VALUE",
    details: { name: "rollouts[1].group" },
  });
});

test("nothing is left behind by a writing that fails, is aborted, or has no format", async () => {
  const path = folder.at("deep/er/out.jsonl");
  function* broken(): Generator<Rollout> {
    yield { text: "a" };
    throw new Error("the source broke");
  }
  await expect(writeRollouts(path, broken())).rejects.toThrow("the source broke");
  const cyclic: Record<string, unknown> = {};
  cyclic["self"] = cyclic;
  await expect(writeRollouts(path, [{ meta: cyclic }])).rejects.toMatchObject({
    code: "ERR_SURPRISAL_VALUE",
    details: { name: "rollouts[0].meta" },
  });
  const abort = new AbortController();
  function* aborting(): Generator<Rollout> {
    yield { text: "a" };
    abort.abort(new Error("enough"));
    yield { text: "b" };
  }
  await expect(writeRollouts(path, aborting(), { signal: abort.signal })).rejects.toThrow("enough");
  expect(readdirSync(dirname(path))).toEqual([]);
  await expect(writeRollouts(folder.at("out.txt"), [])).rejects.toMatchObject({ code: "ERR_SURPRISAL_OPTION" });
});

test("a file that exists stays whole until the new one is", async () => {
  const path = folder.at("kept.jsonl");
  await writeRollouts(path, [{ text: "old" }]);
  async function* slow(): AsyncGenerator<Rollout> {
    expect((await readAllRollouts(path)).rollouts).toEqual([{ text: "old" }]);
    yield { text: "new" };
  }
  await writeRollouts(path, slow());
  expect((await readAllRollouts(path)).rollouts).toEqual([{ text: "new" }]);
});

test("arrays that do not fit each other are refused before anything is shifted", async () => {
  const odd: Rollout = { tokenIds: Int32Array.of(1, 2), samplerLogProbs: Float64Array.of(-1) };
  await expect(writeRollouts(folder.at("odd.npz"), [odd])).rejects.toMatchObject({
    code: "ERR_SURPRISAL_SHAPE",
    details: { name: "rollouts[0].samplerLogProbs" },
  });
});
