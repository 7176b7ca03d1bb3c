// npx tsx test/report/screenshots.ts: the pictures of docs/report.md anew. Fonts are those of the machine.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FACTS, madeUpSteps } from "../../examples/report/main";
import { renderComparison, renderHtml } from "../../lib/report";
import { Browser, type Page, type PageOptions } from "../support/chromium/browser";
import { findChromium } from "../support/chromium/install";

const IMAGES = join(__dirname, "..", "..", "docs", "images");

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

const PICTURES: readonly (readonly [name: string, options: PageOptions, ready: (page: Page) => Promise<void>])[] = [
  ["report-light", { scheme: "light", width: 1280, height: 1060 }, toTop],
  ["report-texts-light", { scheme: "light", width: 1280, height: 980 }, toTexts],
  ["report-tokens-light", { scheme: "light", width: 1280, height: 980 }, toTokens],
  ["report-narrow-dark", { scheme: "dark", width: 390, height: 844, scale: 2 }, toTokens],
];

async function main(): Promise<void> {
  const chromium = findChromium();
  if ("missing" in chromium) throw new Error(chromium.missing);
  const folder = mkdtempSync(join(tmpdir(), "surprisal-report-"));
  const browser = new Browser(chromium.path);
  try {
    const file = join(folder, "report.html");
    writeFileSync(file, renderHtml({ title: "Word problems, EMPG", steps: madeUpSteps(), facts: FACTS }));
    const compared = join(folder, "compare.html");
    const runs = [
      { name: "seed 20", steps: madeUpSteps() },
      { name: "seed 21", steps: madeUpSteps(21) },
    ];
    writeFileSync(compared, renderComparison(runs, { title: "Word problems, two seeds", facts: FACTS }));
    const both = await browser.page(compared, { scheme: "light", width: 1280, height: 1200 });
    writeFileSync(join(IMAGES, "report-compare-light.webp"), await both.screenshot());
    await both.close();
    for (const [name, options, ready] of PICTURES) {
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
