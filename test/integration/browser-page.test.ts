// The example page in Chromium: a dropped rollouts file, its entropies and advantages, and no request.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { pageText } from "../../examples/browser/build";
import { computeAdvantages, logprob } from "../../lib";
import { entropyBounds, pickEntropies, readAllRollouts, toBatch } from "../../lib/io";
import { Browser, type Page } from "../support/chromium/browser";
import { findChromium } from "../support/chromium/install";
import { distFile } from "../support/dist";

const chromium = findChromium();
const REWARDS = [1, 0, 0.25, 0.5, 1, 1];
const VOCAB = 151_936; // the page's default

/** Rollouts with the log-probs of the sampled token and of the likeliest ones. */
const LINES = REWARDS.map((reward, b) => {
  const { logProbs } = logprob(
    Float32Array.from({ length: 8 }, (_, i) => Math.sin(b + i * i)),
    Int32Array.of(0, 1),
    {
      shape: [2, 4],
      backend: "js",
    },
  );
  return JSON.stringify({
    group: `question ${b % 2}`,
    reward,
    token_ids: [0, 1],
    sampler_logprobs: [...logProbs],
    topk: { logprobs: [...logProbs].map((x) => [x]), ids: [[0], [1]] },
  });
});

if ("missing" in chromium) test.skip(`the example page in a browser: ${chromium.missing}`, () => undefined);
else {
  let browser: Browser;
  let folder: string;
  let page: Page;

  beforeAll(async () => {
    distFile("browser/index.mjs");
    folder = mkdtempSync(join(tmpdir(), "surprisal-page-"));
    const file = join(folder, "page.html");
    writeFileSync(file, await pageText());
    browser = new Browser(chromium.path);
    page = await browser.page(file);
  });
  afterAll(async () => {
    await browser.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Drops a file of these bytes; the page's status when it has been read, its rows, and the text behind its link. */
  const dropped = (name: string, bytes: Uint8Array) =>
    page.evaluate<{ status: string; rows: string[][]; lines: string }>(`(async () => {
      const data = new DataTransfer();
      data.items.add(new File([Uint8Array.from(${JSON.stringify([...bytes])})], ${JSON.stringify(name)}));
      document.getElementById("drop").dispatchEvent(new DragEvent("drop", { dataTransfer: data }));
      const status = document.getElementById("status");
      while (status.textContent.startsWith("Reading")) await new Promise((done) => setTimeout(done, 5));
      const link = document.getElementById("download");
      return {
        status: status.textContent,
        rows: [...document.querySelectorAll("#rows tr")].map((row) => [...row.cells].map((cell) => cell.textContent)),
        lines: link.hidden ? "" : await (await fetch(link.href)).text(),
      };
    })()`);

  test.each([
    ["rollouts.jsonl", (text: string) => Buffer.from(text)],
    ["rollouts.jsonl.gz", (text: string) => gzipSync(text)],
  ])("%s: the page has the numbers that Node has", async (name, packed) => {
    const text = `${LINES.join("\n")}\n`;
    const { rollouts } = await readAllRollouts(Buffer.from(text));
    const { rowAdvantages } = computeAdvantages("grpo", toBatch(rollouts));
    const { status, rows, lines } = await dropped(name, packed(text));
    expect(status).toBe("6 rollouts, advantages by GRPO, backend wasm");
    rows.forEach(([group, , tokens, reward, entropy, advantage], b) => {
      const { topK, samplerLogProbs } = rollouts[b]!;
      const [first, second] = pickEntropies(entropyBounds(topK!, VOCAB, { sampled: samplerLogProbs! }), "middle");
      expect([group, tokens, reward]).toEqual([`question ${b % 2}`, "2", String(REWARDS[b])]);
      expect(Number(entropy)).toBeCloseTo((first! + second!) / 2, 3);
      expect(Number(advantage)).toBeCloseTo(rowAdvantages[b]!, 3);
    });
    const again = await readAllRollouts(Buffer.from(lines));
    expect(again.rollouts.map(({ advantages }) => advantages!.length)).toEqual([2, 2, 2, 2, 2, 2]);
  });

  test("a line that is no JSON is refused with its number, and so is a layout that browsers cannot read", async () => {
    const broken = await dropped("broken.jsonl", Buffer.from(`${LINES[0]!}\nnonsense\n${LINES[1]!}\n`));
    expect(broken).toMatchObject({ status: expect.stringContaining("broken.jsonl:2") as string, rows: [], lines: "" });
    const parquet = await dropped("x.parquet", Buffer.from("PAR1nonsense"));
    expect(parquet.status).toBe("readRollouts: reading Parquet is not in a browser; use it in Node");
  });

  test("gzip that is cut off is read as far as it goes, and damaged gzip is refused", async () => {
    const whole = gzipSync(`${LINES.join("\n")}\n`.repeat(2), { level: 0 });
    expect((await dropped("cut.gz", whole.subarray(0, -200))).status).toMatch(/^\d+ rollouts, cut off in line \d+,/);
    const damaged = Uint8Array.from(whole).fill(0xff, 10, 40);
    expect((await dropped("damaged.gz", damaged)).status).toContain("damaged.gz: the gzip data is damaged");
  });

  test("nothing was asked of any server, and nothing went wrong on the way", () => {
    expect(page.errors).toEqual([]);
    expect(page.requests.filter((address) => !/^(data|blob|file):/.test(address))).toEqual([]);
  });
}
