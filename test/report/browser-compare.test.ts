// Runs side by side in a real browser: axes that can be read, sorting, hostile text, narrow screens, axe.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { renderComparison, type Run } from "../../lib/report";
import { Browser, type Page, type PageOptions } from "../support/chromium/browser";
import { findChromium } from "../support/chromium/install";
import { OF_PAPER, toPaper, violationsOf } from "./axe";
import { HOSTILE } from "./hostile";
import { type Given, step } from "./made";

const chromium = findChromium();

/** Steps of eight prompts, or of fewer; `pace` is how fast the run learns. */
const learning = (name: string, pace: number, { steps = 6, prompts = 8 } = {}): Run => ({
  name,
  steps: Array.from({ length: steps }, (_, s) => ({
    ...step(
      `step ${10 * s}`,
      ...Array.from({ length: 2 * prompts }, (_, i): Given => {
        const prompt = `Problem ${i >> 1}: how far does train ${i >> 1} go?`;
        return {
          prompt,
          text: `${name}, answer ${i}`,
          reward: Number(i < pace * s),
          ids: [1, 2, i],
          rewards: { format: 1 },
        };
      }),
    ),
    step: 10 * s,
  })),
});
const hostileRun = (name: string): Run => ({
  name,
  steps: HOSTILE.map((text, s) => ({
    ...step(text, { prompt: text, text, reward: s % 2, rewards: { [text.slice(0, 200)]: 1 }, group: text }),
    step: s,
  })),
});

if ("missing" in chromium) test.skip(`runs side by side in a browser: ${chromium.missing}`, () => undefined);
else {
  let browser: Browser;
  let folder: string;
  let page: Page;

  const open = async (runs: readonly Run[], options?: PageOptions): Promise<void> => {
    const file = join(folder, "compare.html");
    writeFileSync(file, renderComparison(runs));
    page = await browser.page(file, options);
  };

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "surprisal-compare-"));
    browser = new Browser(chromium.path);
  });
  afterEach(async () => {
    expect(page.errors).toEqual([]);
    expect(page.requests).toEqual([expect.stringMatching(/^file:.*\.html$/)]);
    await page.close();
  });
  afterAll(async () => {
    await browser.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test.each([390, 1280])(
    "labels of the axes stay inside their card at the size of the body, %i pixels wide",
    async (width) => {
      await open([learning("slow", 1), learning("fast", 3)], { width });
      const labels = await page.evaluate<{ size: number; inside: boolean }[]>(
        `[...document.querySelectorAll(".curves text")].map((text) => {
        const [own, card] = [text.getBoundingClientRect(), text.closest("figure").getBoundingClientRect()];
        return { size: parseFloat(getComputedStyle(text).fontSize) * (own.height > 0 ? 1 : 0), inside: own.left >= card.left && own.right <= card.right && own.bottom <= card.bottom };
      })`,
      );
      expect(labels.length).toBeGreaterThan(20);
      expect(await page.evaluate("getComputedStyle(document.body).fontSize")).toBe("15px");
      for (const label of labels) expect(label).toEqual({ size: 15, inside: true });
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
    },
  );

  test("lines end where their runs end, and differ in more than colour", async () => {
    await open([learning("slow", 1), learning("fast", 3)]);
    const lines = await page.evaluate<{ dash: string; last: string }[]>(
      `[...document.querySelector("figure.curve").querySelectorAll("polyline")].map((line) => ({ dash: getComputedStyle(line).strokeDasharray, last: line.getAttribute("points").split(" ").at(-1) }))`,
    );
    expect(lines.map(({ last }) => last)).toEqual(["100.00,66.67", "100.00,0.00"]);
    expect(new Set(lines.map(({ dash }) => dash)).size).toBe(2);
  });

  test("prompts sort by their change, and open on what each run answered", async () => {
    await open([learning("slow", 1), learning("fast", 3)]);
    const table = `document.querySelector('[aria-label="Prompts"] table')`;
    const first = () => page.evaluate<string>(`${table}.tBodies[0].rows[0].cells[0].textContent`);
    await page.evaluate(`[...${table}.querySelectorAll("button.sort")].at(-1).click()`);
    await page.evaluate(`[...${table}.querySelectorAll("button.sort")].at(-1).click()`);
    expect(await first()).toBe("Problem 0: how far does train 0 go?");
    await page.evaluate(`document.querySelector("details.change summary").click()`);
    expect(
      await page.evaluate(
        `[...document.querySelectorAll("details.change[open] pre.response")].map((pre) => pre.innerText)`,
      ),
    ).toEqual([expect.stringMatching(/^slow, answer/), expect.stringMatching(/^fast, answer/)]);
  });

  test("hostile text is text everywhere, and runs nowhere", async () => {
    await open([hostileRun(`one${HOSTILE[0]}`), hostileRun(`two${HOSTILE[1]}`)]);
    await page.evaluate(`for (const one of document.querySelectorAll("details")) one.open = true`);
    await page.drawn();
    expect(await page.evaluate("window.hacked === undefined && document.scripts.length")).toBe(2);
    expect(await page.evaluate(`document.querySelectorAll("img, iframe, base, link[rel=stylesheet]").length`)).toBe(0);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(1280);
  });

  test.each([
    ["light", 1280],
    ["dark", 390],
  ] as const)("axe finds nothing wrong: %s, %i pixels wide, and on paper", async (scheme, width) => {
    await open(
      Array.from({ length: 9 }, (_, i) => learning(`run ${i}`, i / 3, { steps: 2, prompts: 2 })),
      { scheme, width },
    );
    expect(await violationsOf(page)).toEqual([]);
    await toPaper(page);
    expect(await violationsOf(page, OF_PAPER)).toEqual([]);
  });
}
