// When the first of a report can be seen in Chromium: `npx tsx bench/first-paint.ts`, on a quiet machine. Writes
// bench/results/first-paint.json. Each load is in a tab of its own; times are the browser's, from the start of the navigation.
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { prepareSteps, renderHtml } from "../lib/report";
import { Browser } from "../test/support/chromium/browser";
import { findChromium } from "../test/support/chromium/install";
import { quantile } from "./harness/statistics";

/** Loads of a page; of a large one, which takes long, fewer. */
const LOADS = 7;
const LOADS_OF_LARGE = 3;
const LARGE = 50_000;
const GROUP = 8;
const LIMIT_MS = 1000;
const WORDS = "so the train goes on from here to there and then it takes twelve more minutes".split(" ");

/** A text of `count` words that is another one for each `seed`. */
const textOf = (count: number, seed: number): string =>
  Array.from({ length: count }, (_, w) => WORDS[(seed * 31 + w * (7 + (seed % 5))) % WORDS.length]).join(" ");

/** A dump without tokens, as trainers write them; `tokens` of each rollout where there are some. */
function rolloutsOf(count: number, steps: number, tokens: number) {
  return Array.from({ length: count }, (_, i) => ({
    step: Math.floor((i * steps) / count),
    group: `p${Math.floor(i / GROUP)}`,
    prompt: `Problem ${Math.floor(i / GROUP)}: ${textOf(40, Math.floor(i / GROUP))}?`,
    text: `${textOf(150, i)}.\nThe answer is ${i % 13}.`,
    reward: Number(i % 3 === 0),
    rewards: { format: Number(i % 4 > 0) },
    meta: { gts: String(i % 13), pred: String((7 * i) % 13) },
    ...(tokens > 0 && {
      tokenIds: Int32Array.from({ length: tokens }, (_, t) => (i + t) % 997),
      tokens: Array.from({ length: tokens }, (_, t) => ` ${WORDS[(i + t) % WORDS.length]}`),
      entropies: Float64Array.from({ length: tokens }, (_, t) => ((i + t) % 17) / 8),
      oldLogProbs: Float64Array.from({ length: tokens }, (_, t) => -((i + t) % 13) / 6),
    }),
  }));
}

const PAGES = [
  ["10,000 rollouts of one step, texts", 10_000, 1, 0],
  ["10,000 rollouts of ten steps, texts", 10_000, 10, 0],
  ["10,000 rollouts of one step, texts and 150 tokens each", 10_000, 1, 150],
  ["100,000 rollouts of one step, texts", 100_000, 1, 0],
] as const;

async function timesOf(browser: Browser, file: string): Promise<{ firstPaint: number; loaded: number }> {
  const page = await browser.page(file);
  const times = await page.evaluate<{ firstPaint: number; loaded: number }>(`new Promise((done) => {
    new PerformanceObserver((list) => {
      const paint = list.getEntriesByName("first-contentful-paint")[0];
      if (paint) done({ firstPaint: paint.startTime, loaded: performance.getEntriesByType("navigation")[0].loadEventEnd });
    }).observe({ type: "paint", buffered: true });
  })`);
  if (page.errors.length > 0) throw new Error(page.errors.join("\n"));
  await page.close();
  return times;
}

const spread = (values: readonly number[]) => ({
  least: Math.round(Math.min(...values)),
  median: Math.round(quantile(values, 0.5)),
  most: Math.round(Math.max(...values)),
});

async function main(): Promise<void> {
  const chromium = findChromium();
  if ("missing" in chromium) throw new Error(chromium.missing);
  const load = loadavg()[0]!;
  const folder = mkdtempSync(join(tmpdir(), "surprisal-first-paint-"));
  const browser = new Browser(chromium.path);
  try {
    const results = [];
    for (const [name, count, steps, tokens] of PAGES) {
      const file = join(folder, "report.html");
      writeFileSync(file, renderHtml({ title: name, steps: prepareSteps(rolloutsOf(count, steps, tokens)) }));
      const times = [];
      const loads = count > LARGE ? LOADS_OF_LARGE : LOADS;
      for (let i = 0; i < loads; ++i) times.push(await timesOf(browser, file));
      const firstPaint = spread(times.map((one) => one.firstPaint));
      const loaded = spread(times.map((one) => one.loaded));
      results.push({
        page: name,
        loads,
        megabytes: Number((statSync(file).size / 1e6).toFixed(1)),
        firstPaint,
        loaded,
      });
      console.log(`${firstPaint.median <= LIMIT_MS ? "within" : "BEYOND"} 1 s: ${JSON.stringify(results.at(-1))}`);
    }
    const machine = { cpu: cpus()[0]!.model, cores: cpus().length, node: process.versions.node, load };
    const whole = { unit: "ms since the start of the navigation", machine, results };
    writeFileSync(join(__dirname, "results", "first-paint.json"), `${JSON.stringify(whole, null, 1)}\n`);
  } finally {
    await browser.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

void main();
