// Prompts and responses of a report in a real browser: search, order, pairs, links, keys.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { prepareSteps, renderHtml } from "../../lib/report";
import { Browser, type Page, type PageOptions } from "../support/chromium/browser";
import { findChromium } from "../support/chromium/install";
import { OF_PAPER, toPaper, violationsOf } from "./axe";

const chromium = findChromium();

/** Two steps of three groups of four rollouts, as a trainer's dump without tokens. */
const rollouts = Array.from({ length: 24 }, (_, i) => ({
  step: i < 12 ? 1 : 2,
  group: `p${Math.floor(i / 4) % 3}`,
  prompt: `Problem ${Math.floor(i / 4) % 3}: how far does train ${Math.floor(i / 4) % 3} go?`,
  text: `Let me think.\n${"It goes on. ".repeat(i % 7)}\nAnswer ${i}.`,
  reward: [0, 1, 0.5, 0.25][i % 4]!,
  rewards: { format: ((i * 5) % 12) / 12 },
  finishReason: i % 4 === 3 ? "length" : "stop",
  meta: { gts: "12", pred: String(i) },
}));

if ("missing" in chromium) test.skip(`the texts of a report in a browser: ${chromium.missing}`, () => undefined);
else {
  let browser: Browser;
  let folder: string;
  let file: string;
  let page: Page;

  const open = async (options?: PageOptions, name = file): Promise<void> => {
    page = await browser.page(name, options);
  };
  /** Ids of the rollouts that can be seen, from top to bottom. */
  const seen = () =>
    page.evaluate<string[]>(
      `[...document.querySelectorAll("section.step:not([hidden]) article.rollout")].filter((one) => one.offsetParent !== null).map(({ id }) => id)`,
    );
  const set = (selector: string, value: string, event: string): Promise<unknown> =>
    page.evaluate(
      `(() => { const one = document.querySelector("section.step:not([hidden]) ${selector}"); one.value = ${JSON.stringify(value)}; one.dispatchEvent(new Event("${event}", { bubbles: true })); })()`,
    );
  const says = () => page.evaluate<string>(`document.getElementById("says").textContent`);
  const here = () => page.evaluate<string>(`document.activeElement.id`);

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "surprisal-texts-"));
    file = join(folder, "texts.html");
    writeFileSync(file, renderHtml({ title: "dump", steps: prepareSteps(rollouts) }));
    browser = new Browser(chromium.path);
  });
  afterEach(async () => {
    expect(page.errors).toEqual([]);
    await page.close();
  });
  afterAll(async () => {
    await browser.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test.each([390, 1280])("a histogram alone keeps its size and that of its labels, %i pixels wide", async (width) => {
    await open({ width });
    const seen = await page.evaluate<{ height: number; sizes: number[]; outside: number }>(`(() => {
      const chart = document.querySelector("section.step:not([hidden]) .histogram");
      const { left, right } = chart.closest("figure").getBoundingClientRect();
      const labels = [...chart.querySelectorAll("text")].map((text) => ({ ...text.getBoundingClientRect().toJSON(), size: parseFloat(getComputedStyle(text).fontSize) }));
      return {
        height: chart.getBoundingClientRect().height,
        sizes: [...new Set(labels.map(({ size }) => size))],
        outside: labels.filter((one) => one.left < left || one.right > right || one.height > 1.5 * one.size).length,
      };
    })()`);
    expect(seen).toEqual({ height: 114, sizes: [15], outside: 0 });
  });

  test("search, in prompts and responses, hides what does not hold the words", async () => {
    await open();
    expect(await seen()).toHaveLength(12);
    await set(".search", "ANSWER 17", "input");
    expect(await seen()).toEqual(["1/5"]);
    await set(".search", "train 2", "input");
    expect(await seen()).toEqual(["1/8", "1/9", "1/10", "1/11"]);
    expect(await page.evaluate(`document.querySelector("section.step:not([hidden]) .found").textContent`)).toBe(
      "4 of 12 rollouts",
    );
    await set(".search", "", "input");
    await set(".show", "cut", "change");
    expect(await seen()).toEqual(["1/3", "1/7", "1/11"]);
    await set(".show", "worst", "change");
    expect(await seen()).toEqual(["1/0", "1/4", "1/8"]);
  });

  test("any number puts rollouts in order, and the groups come back", async () => {
    await open();
    const inGroups = await seen();
    await set(".sort-by", "format", "change");
    const format = (id: string): number => rollouts[12 + Number(id.slice(2))]!.rewards.format;
    const falling = [...inGroups].sort((a, b) => format(b) - format(a));
    expect(await seen()).toEqual(falling);
    expect(await says()).toBe("Sorted by format, largest first");
    await page.click("section.step:not([hidden]) .turn-round");
    expect(await seen()).toEqual([...falling].reverse());
    await set(".sort-by", "", "change");
    expect(await seen()).toEqual(inGroups);
  });

  test("a field of the source puts rollouts in order too, and conditions find them", async () => {
    await open();
    await set(".sort-by", "pred", "change");
    expect(await seen()).toEqual(Array.from({ length: 12 }, (_, i) => `1/${11 - i}`));
    expect(await says()).toBe("Sorted by pred, largest first");
    await set(".sort-by", "finish", "change");
    expect((await seen()).slice(0, 3)).toEqual(["1/0", "1/1", "1/2"]);
    await set(".sort-by", "", "change");
    for (const [condition, ids] of [
      ["reward >= 0.5", ["1/1", "1/2", "1/5", "1/6", "1/9", "1/10"]],
      ["reward>0.5", ["1/1", "1/5", "1/9"]],
      ["pred = 17", ["1/5"]],
      ["finish = length", ["1/3", "1/7", "1/11"]],
      ["nothing = 1", []],
    ] as const) {
      await set(".search", condition, "input");
      expect([condition, await seen()]).toEqual([condition, ids]);
    }
  });

  const pairUp = `document.querySelectorAll("section.step:not([hidden]) .pair-up")[1].click()`;

  test("the best of a group stands beside the worst", async () => {
    await open();
    await page.evaluate(pairUp);
    expect(await seen()).toEqual(["1/0", "1/1", "1/2", "1/3", "1/5", "1/4", "1/8", "1/9", "1/10", "1/11"]);
    const tops = await page.evaluate<number[]>(
      `["1/5", "1/4"].map((id) => document.getElementById(id).getBoundingClientRect().top)`,
    );
    expect(tops[0]).toBe(tops[1]);
    await page.evaluate(pairUp);
    expect(await seen()).toHaveLength(12);
  });

  test("a link leads to its rollout, in another step and through a filter", async () => {
    await open();
    await set(".search", "nothing of the kind", "input");
    expect(await seen()).toEqual([]);
    await page.evaluate(
      `(location.hash = "#0/6", new Promise((done) => addEventListener("hashchange", done, { once: true })))`,
    );
    expect(await here()).toBe("0/6");
    expect(await page.evaluate(`document.querySelector("section.step:not([hidden])").dataset.step`)).toBe("0");
    await page.evaluate(
      `(location.hash = "#1/2", new Promise((done) => addEventListener("hashchange", done, { once: true })))`,
    );
    expect(await here()).toBe("1/2");
    expect(await seen()).toHaveLength(12);
    await page.evaluate(
      `(location.hash = "#1/99", new Promise((done) => addEventListener("hashchange", done, { once: true })))`,
    );
    expect(await says()).toBe("The text of this rollout is not on the page");
  });

  test("j and k move, / searches, Escape leaves", async () => {
    await open();
    for (const id of ["1/0", "1/1", "1/2"]) {
      await page.press("j");
      expect(await here()).toBe(id);
    }
    await page.press("k");
    expect(await here()).toBe("1/1");
    await page.press("/");
    expect(await page.evaluate(`document.activeElement.className`)).toBe("search");
    await page.press("j"); // a letter of the search, not a move
    expect(await page.evaluate(`document.activeElement.className`)).toBe("search");
    await set(".search", "Answer 13", "input");
    await page.press("Escape");
    expect(await seen()).toHaveLength(12);
    expect(await page.evaluate(`document.activeElement.localName`)).toBe("body");
  });

  describe("of more rollouts than are shown at once", () => {
    const step = "section.step:not([hidden])";
    const pages = () =>
      page.evaluate<string[]>(
        `[...document.querySelectorAll("${step} select.page option")].map((one) => one.textContent)`,
      );
    const turner = () => page.evaluate<boolean>(`!document.querySelector("${step} .page-turner").hidden`);

    beforeEach(async () => {
      const paged = join(folder, "paged.html");
      writeFileSync(paged, renderHtml({ title: "dump", steps: prepareSteps(rollouts) }, { textsAtOnce: 10 }));
      await open(undefined, paged);
    });

    test("whole groups make pages, and keys and buttons turn them", async () => {
      expect(await pages()).toEqual(["1 of 2", "2 of 2"]);
      const first = Array.from({ length: 8 }, (_, i) => `1/${i}`);
      expect(await seen()).toEqual(first);
      await page.click(`${step} .page-on`);
      expect(await seen()).toEqual(["1/8", "1/9", "1/10", "1/11"]);
      expect(await says()).toBe("Page 2 of 2");
      await page.evaluate(`document.getElementById("1/8").focus()`);
      await page.press("k");
      expect([await here(), await seen()]).toEqual(["1/7", first]);
      await page.press("j");
      expect(await here()).toBe("1/8");
    });

    test("search, filter and order are over all of them", async () => {
      await set(".search", "ANSWER 22", "input");
      expect(await seen()).toEqual(["1/10"]);
      expect(await page.evaluate(`document.querySelector("${step} .found").textContent`)).toBe("1 of 12 rollouts");
      expect(await turner()).toBe(false);
      await set(".search", "", "input");
      expect(await turner()).toBe(true);
      await set(".show", "best", "change");
      expect(await seen()).toEqual(["1/1", "1/5", "1/9"]);
      await set(".show", "all", "change");
      await set(".sort-by", "format", "change");
      const format = (id: string): number => rollouts[12 + Number(id.slice(2))]!.rewards.format;
      const ids = Array.from({ length: 12 }, (_, i) => `1/${i}`).sort((a, b) => format(b) - format(a));
      expect(await seen()).toEqual(ids.slice(0, 10));
      await set(".page", "1", "change");
      expect(await seen()).toEqual(ids.slice(10));
      await set(".sort-by", "", "change");
      expect(await seen()).toHaveLength(8);
    });

    test("a link leads to a rollout of another page, also of another step", async () => {
      for (const address of ["1/11", "0/10", "1/2"]) {
        await page.evaluate(
          `(location.hash = "#${address}", new Promise((done) => addEventListener("hashchange", done, { once: true })))`,
        );
        expect([await here(), await seen()]).toEqual([address, expect.arrayContaining([address])]);
      }
    });

    test("axe finds nothing wrong", async () => {
      expect(await violationsOf(page)).toEqual([]);
    });

    test("of 100,000 rollouts those of one page are in the document, and each can be found and linked to", async () => {
      await page.close();
      const many = Array.from({ length: 100_000 }, (_, i) => ({
        group: `p${i >> 3}`,
        prompt: `Problem ${i >> 3}`,
        text: `Answer ${i}.`,
        reward: i % 2,
      }));
      const big = join(folder, "big.html");
      writeFileSync(big, renderHtml({ title: "many", steps: prepareSteps(many) }, { textsAtOnce: 1000 }));
      await open(undefined, big);
      const inDocument = () => page.evaluate<number>(`document.querySelectorAll("article.rollout").length`);
      expect([await inDocument(), (await pages()).length]).toEqual([1000, 100]);
      await page.evaluate(
        `(location.hash = "#0/99999", new Promise((done) => addEventListener("hashchange", done, { once: true })))`,
      );
      expect([await here(), await inDocument()]).toEqual(["0/99999", 1000]);
      await set(".search", "Answer 54321.", "input");
      expect(await seen()).toEqual(["0/54321"]);
    });
  });

  test("without scripts the texts of the last step are there, and no controls that do nothing", async () => {
    await open({ scripts: false });
    // What is far below the screen has no accessible nodes before it is come to, and the rest when it has been drawn.
    const rollouts = (nodes: Awaited<ReturnType<typeof page.accessibleNodes>>) =>
      nodes.filter(({ name }) => /^Rollout \d+$/.test(name));
    let nodes = await page.accessibleNodes();
    while (rollouts(nodes).length === 0) nodes = await page.accessibleNodes();
    expect(nodes.filter(({ role }) => role === "searchbox" || role === "combobox")).toEqual([]);
    expect(
      await page.evaluate(
        `[...document.querySelectorAll("article.rollout")].filter((one) => one.checkVisibility()).map(({ id }) => id)`,
      ),
    ).toEqual(Array.from({ length: 12 }, (_, i) => `1/${i}`));
    expect(
      await page.evaluate(
        `(() => { const one = document.getElementById("1/11"); one.scrollIntoView(); return one.querySelector("pre").innerText; })()`,
      ),
    ).toContain("Answer 23.");
  });

  test.each([
    ["light", 1280],
    ["dark", 390],
  ] as const)("axe finds nothing wrong: %s, %i pixels wide, and on paper", async (scheme, width) => {
    await open({ scheme, width });
    expect(await violationsOf(page)).toEqual([]);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
    await toPaper(page);
    expect(await violationsOf(page, OF_PAPER)).toEqual([]);
  });
}
