// Prompts and responses of a report in a real browser: search, order, pairs, links, keys.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { prepareSteps, renderHtml } from "../../lib/report";
import { Browser, type Page, type PageOptions } from "../support/chromium/browser";
import { findChromium } from "../support/chromium/install";

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
    expect(seen).toEqual({ height: 114, sizes: [13.5], outside: 0 });
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

  test("without scripts the texts of the last step are there, and no controls that do nothing", async () => {
    await open({ scripts: false });
    const nodes = await page.accessibleNodes();
    expect(nodes.filter(({ role }) => role === "searchbox" || role === "combobox")).toEqual([]);
    expect(nodes.filter(({ name }) => /^Rollout \d+$/.test(name)).length).toBeGreaterThanOrEqual(12);
    expect(
      await page.evaluate(
        `(() => { const one = document.getElementById("1/11"); one.scrollIntoView(); return one.querySelector("pre").innerText; })()`,
      ),
    ).toContain("Answer 23.");
  });

  test.each([
    ["light", 1280],
    ["dark", 390],
  ] as const)("axe finds nothing wrong: %s, %i pixels wide", async (scheme, width) => {
    await open({ scheme, width });
    await page.evaluate(readFileSync(require.resolve("axe-core/axe.min.js"), "utf8") + "; 0");
    const violations = await page.evaluate(
      `axe.run().then(({ violations }) => violations.map(({ id, nodes }) => ({ id, where: nodes.map(({ html }) => html) })))`,
    );
    expect(violations).toEqual([]);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
  });
}
