// npx tsx test/report/screenshots.ts: the pictures of docs/report.md anew. Fonts are those of the machine.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FACTS, madeUpSteps } from "../../examples/report/main";
import { madeUpRollouts } from "../../examples/report/rollouts";
import { prepareSteps, renderComparison, renderHtml, type ReportStep } from "../../lib/report";
import { Browser, type Page, type PageOptions } from "../support/chromium/browser";
import { findChromium } from "../support/chromium/install";

const IMAGES = join(__dirname, "..", "..", "docs", "images");

/** The same rollouts as a trainer dumps them that writes no tokens: texts, rewards, the answer that was found and the right one. */
function dumpSteps(): ReportStep[] {
  const rollouts = madeUpRollouts({ seed: 20, steps: [0, 60, 120, 180], groups: 16, rolloutsPerGroup: 8 });
  const found = rollouts.map(({ tokens = [] }) => /(-?\d+) <\/answer>/.exec(tokens.join(""))?.[1]);
  const answers = new Map(rollouts.flatMap(({ prompt, reward }, i) => (reward === 1 ? [[prompt, found[i]]] : [])));
  return prepareSteps(
    rollouts.map(({ step, prompt, tokens = [], reward, finishReason }, i) => ({
      step,
      group: prompt,
      prompt,
      text: tokens.join("").replace(/<\/?(?:step|answer)>/g, ""),
      reward,
      rewards: { accuracy: Number(reward === 1), brevity: Math.round(10 * Math.min(1, 60 / tokens.length)) / 10 },
      finishReason,
      meta: { ...(answers.has(prompt) && { gts: answers.get(prompt) }), pred: found[i] },
    })),
  );
}

const toTokens = async (page: Page): Promise<void> => {
  await page.evaluate(`document.getElementById("view").focus({ preventScroll: true })`);
  for (let i = 0; i < 2; ++i) await page.press("s");
  await page.evaluate(`document.getElementById("tokens").scrollIntoView()`);
};
const toTexts = async (page: Page): Promise<void> => {
  await page.evaluate(`document.querySelector("section.step:not([hidden]) .pair-up").click()`);
  await page.evaluate(
    `document.querySelector("section.step:not([hidden]) .text-tools").previousElementSibling.scrollIntoView()`,
  );
  await page.drawn();
};
const toTop = (): Promise<void> => Promise.resolve();

type Picture = readonly [
  name: string,
  page: "tokens" | "dump" | "compare",
  options: PageOptions,
  ready: (page: Page) => Promise<void>,
];

const PICTURES: readonly Picture[] = [
  ["report-light", "tokens", { scheme: "light", width: 1280, height: 1060 }, toTop],
  ["report-texts-light", "dump", { scheme: "light", width: 1280, height: 980 }, toTexts],
  ["report-tokens-light", "tokens", { scheme: "light", width: 1280, height: 980 }, toTokens],
  ["report-narrow-dark", "tokens", { scheme: "dark", width: 390, height: 844, scale: 2 }, toTokens],
  ["report-compare-light", "compare", { scheme: "light", width: 1280, height: 1200 }, toTop],
];

async function main(): Promise<void> {
  const chromium = findChromium();
  if ("missing" in chromium) throw new Error(chromium.missing);
  const folder = mkdtempSync(join(tmpdir(), "surprisal-report-"));
  const browser = new Browser(chromium.path);
  try {
    const title = "Word problems, EMPG";
    const runs = [20, 21].map((seed) => ({ name: `seed ${seed}`, steps: madeUpSteps(seed) }));
    const documents = {
      tokens: renderHtml({ title, steps: madeUpSteps(), facts: FACTS }),
      dump: renderHtml({ title: "Word problems, a dump of texts", steps: dumpSteps() }),
      compare: renderComparison(runs, { title: "Word problems, two seeds", facts: FACTS }),
    };
    for (const [name, which, options, ready] of PICTURES) {
      const file = join(folder, `${which}.html`);
      writeFileSync(file, documents[which]);
      const page = await browser.page(file, options);
      await ready(page);
      writeFileSync(join(IMAGES, `${name}.webp`), await page.screenshot());
      await page.close();
    }
  } finally {
    await browser.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

void main();
