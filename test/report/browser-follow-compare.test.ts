// Runs that are compared while they write, in a real browser: `surprisal view ONE TWO` serves the page.
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { jsonl } from "../cli/in-process";
import { RunningView } from "../cli/running-view";
import { Browser, type Page, type PageOptions } from "../support/chromium/browser";
import { findChromium } from "../support/chromium/install";
import { OF_PAPER, toPaper, violationsOf } from "./axe";
import { HOSTILE } from "./hostile";

const chromium = findChromium();

if ("missing" in chromium) test.skip(`runs that are followed, in a browser: ${chromium.missing}`, () => undefined);
else {
  let browser: Browser;
  let folders: string[];
  let view: RunningView;
  let page: Page;

  /** A step of eight prompts appears whole in one of the runs; its first `right` answers are right. */
  const write = (run: number, step: number, right: number): void => {
    const records = Array.from({ length: 16 }, (_, i) => ({
      prompt: `Problem ${i >> 1}: how far does train ${i >> 1} go?`,
      text: i === 15 ? HOSTILE[step % HOSTILE.length] : `Run ${run}, answer ${i} of step ${step}.`,
      reward: Number(i < right),
    }));
    const hidden = join(folders[run]!, ".partial");
    writeFileSync(hidden, jsonl(records));
    renameSync(hidden, join(folders[run]!, `${step}.jsonl`));
  };
  const open = async (options?: PageOptions): Promise<void> => {
    page = await browser.page(await view.address(), options);
    await page.evaluate(`new Promise((done) => {
      const news = document.getElementById("news");
      const look = () => news.textContent === "up to date" && done(0);
      new MutationObserver(look).observe(news, { childList: true });
      look();
    })`);
  };
  const says = () => page.evaluate<string>(`document.getElementById("says").textContent`);
  /** Places on the axis of steps up to which the lines of the first curve go. */
  const ends = () =>
    page.evaluate<number[]>(
      `[...document.querySelector("figure.curve").querySelectorAll("polyline")].map((line) => parseFloat(line.getAttribute("points").split(" ").at(-1)))`,
    );

  beforeAll(() => {
    browser = new Browser(chromium.path);
  });
  beforeEach(() => {
    folders = ["slow", "fast"].map((name) => mkdtempSync(join(tmpdir(), `surprisal-${name}-`)));
    for (const step of [0, 1, 2]) {
      write(0, step, step);
      write(1, step, 4 * step);
    }
    view = new RunningView([...folders, "--name", "slow", "--name", `fast ${"and with a long name ".repeat(12)}`]);
  });
  afterEach(async () => {
    expect(page.errors).toEqual([]);
    await page.close();
    expect((await view.stop()).code).toBe(0);
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  });
  afterAll(() => browser.close());

  test("a step that one of the runs writes lengthens its lines, and is said; the page asks its own server alone", async () => {
    await open();
    expect(await ends()).toEqual([100, 100]);
    const loaded = page.nextLoad();
    write(1, 3, 16);
    await loaded;
    expect(await says()).toBe("1 new step");
    const [slow, fast] = await ends();
    expect(fast).toBe(100);
    expect(slow).toBeLessThan(100);
    const address = await view.address();
    expect(new Set(page.requests)).toEqual(new Set([address, `${address}events`]));
    expect(await page.evaluate("window.hacked === undefined && document.scripts.length")).toBe(2);
  });

  test("a prompt that is open stays open, and leads to the rollout in the report of its run", async () => {
    await open();
    const first = `document.querySelector("details.change")`;
    await page.evaluate(`${first}.querySelector("summary").click()`);
    const loaded = page.nextLoad();
    write(0, 3, 2);
    await loaded;
    expect(await page.evaluate(`${first}.open`)).toBe(true);
    const link = await page.evaluate<string>(`[...${first}.querySelectorAll("a")].at(-1).getAttribute("href")`);
    expect(link).toMatch(/^\/2#2\/\d+$/);
    const there = page.nextLoad();
    await page.evaluate(`[...${first}.querySelectorAll("a")].at(-1).click()`);
    await there;
    expect(await page.evaluate(`[location.pathname + location.hash, document.activeElement.id]`)).toEqual([
      link,
      link.slice(3),
    ]);
    expect(await page.evaluate(`document.querySelector('nav.pages [aria-current="page"]').textContent`)).toMatch(
      /^fast and with/,
    );
  });

  test("on paper there are curves, prompts and numbers, no switch and no way to another page", async () => {
    await open();
    const seen = () =>
      page.evaluate<boolean[]>(
        `["figure.curve polyline", "details.change", '[aria-label="Prompts"] table', "#follow", "nav.pages"].map((one) => [...document.querySelectorAll(one)].some((found) => found.checkVisibility()))`,
      );
    expect(await seen()).toEqual([true, true, true, true, true]);
    await toPaper(page);
    expect(await seen()).toEqual([true, true, true, false, false]);
    expect(await page.evaluate(`getComputedStyle(document.body).backgroundColor`)).toBe("rgb(255, 255, 255)");
    expect(await violationsOf(page, OF_PAPER)).toEqual([]);
    const { data } = await page.call("Page.printToPDF", { printBackground: true });
    expect(
      Buffer.from(data as string, "base64")
        .subarray(0, 5)
        .toString(),
    ).toBe("%PDF-");
  });

  test.each([
    ["light", 1280],
    ["dark", 390],
  ] as const)("axe finds nothing wrong: %s, %i pixels wide", async (scheme, width) => {
    writeFileSync(join(folders[0]!, `broken-${"long".repeat(30)}.json`), '{"learning_rate": 1}');
    await open({ scheme, width });
    expect(await violationsOf(page)).toEqual([]);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
    expect(await page.evaluate(`document.querySelector(".problems").textContent`)).toContain("no known dialect");
  });
}
