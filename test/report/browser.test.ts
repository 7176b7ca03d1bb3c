// The report in a real browser: Chromium, headless, driven over pipes.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FACTS, madeUpSteps } from "../../examples/report/main";
import { type HtmlOptions, type Report, renderHtml } from "../../lib/report";
import { Browser, type Page, type PageOptions } from "../support/chromium/browser";
import { findChromium } from "../support/chromium/install";
import { OF_PAPER, toPaper, violationsOf } from "./axe";
import { wholeHostileReport } from "./hostile";
import { rollout } from "./made";

const chromium = findChromium();

if ("missing" in chromium) test.skip(`the report in a browser: ${chromium.missing}`, () => undefined);
else {
  let browser: Browser;
  let folder: string;
  const pages: Page[] = [];

  const file = (name: string, report: Report, options?: HtmlOptions): string => {
    const path = join(folder, `${name}.html`);
    writeFileSync(path, renderHtml(report, options));
    return path;
  };
  const open = async (path: string, options?: PageOptions): Promise<Page> => {
    const page = await browser.page(path, options);
    pages.push(page);
    return page;
  };
  const COUNT = 100_000;
  const texts = [" the", " policy", "是", "\n", " 👍🏽", " supercalifragilistic", ".", " a"];
  const longReport = (): Report => {
    const ids = Int32Array.from({ length: COUNT }, (_, t) => (t * 7) % 8);
    const base = rollout({ group: "long", reward: 1, ids: [] });
    const spans = Array.from({ length: 1000 }, (_, s) => ({
      begin: 100 * s + 5,
      finish: 100 * s + 60,
      entropy: s / 1000,
      before: 1,
      after: 1.5,
    }));
    const entropies = Float64Array.from(ids, (id) => id / 4);
    return {
      steps: [
        {
          label: "one",
          rollouts: [
            {
              ...base,
              tokenIds: ids,
              tokens: Array.from(ids, (id) => texts[id]!),
              entropies,
              oldLogProbs: entropies.map((h) => -h),
              advantages: entropies,
              spans,
            },
          ],
        },
      ],
    };
  };
  let made: string;
  let few: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "surprisal-report-"));
    browser = new Browser(chromium.path);
    const report = { title: "Word problems, EMPG", steps: madeUpSteps(), facts: FACTS };
    // Tokens are what is looked at: of the texts a few.
    made = file("made", report, { maxTexts: 32 });
    // For axe, which looks at every element: some of each kind.
    few = file("few", { ...report, steps: report.steps.slice(2) }, { maxGroups: 3, maxRollouts: 2, maxTexts: 6 });
  });

  afterEach(async () => {
    const done = pages.splice(0);
    for (const page of done) await page.close();
    for (const { errors, requests } of done) {
      expect(errors).toEqual([]);
      expect(requests).toEqual([expect.stringMatching(/^file:.*\.html$/)]);
    }
  });

  afterAll(async () => {
    await browser.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const active = (page: Page) =>
    page.evaluate<string | null>(`document.getElementById("view").getAttribute("aria-activedescendant")`);

  test("hostile text is text everywhere, and runs nowhere", async () => {
    const page = await open(file("hostile", wholeHostileReport()));
    // Every rollout of every step is looked at once.
    const seen = await page.evaluate<{
      texts: string[];
      frames: number;
      handlers: number;
      scripts: number;
      hacked: string;
      strange: string[];
    }>(`(() => {
      const texts = [];
      const picker = document.getElementById("rollout");
      const slider = document.getElementById("step-slider");
      for (const value of [0, 1]) {
        slider.value = value;
        slider.dispatchEvent(new Event("input"));
        for (let i = 0; i < picker.options.length; ++i) {
          picker.selectedIndex = i;
          picker.dispatchEvent(new Event("change"));
          const token = document.querySelector("#view .token");
          token?.click();
          texts.push(token?.textContent ?? document.getElementById("cut").textContent);
        }
      }
      const all = [...document.querySelectorAll("*")];
      const shown = all.filter((element) => element.localName !== "script" && element.localName !== "style").flatMap((element) =>
        [...element.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data).concat([...element.attributes].map(({ value }) => value)));
      return {
        texts,
        frames: document.querySelectorAll("img, iframe, object, embed, form, base, b > *, link:not([rel=icon])").length,
        handlers: all.filter((element) => [...element.attributes].some(({ name }) => name.startsWith("on"))).length,
        scripts: document.scripts.length,
        hacked: String(window.hacked),
        strange: shown.filter((text) => /[\\p{Cf}\\p{Cs}\\p{Zl}\\p{Zp}]/u.test(text)),
      };
    })()`);
    expect(seen).toMatchObject({ frames: 0, handlers: 0, scripts: 2, hacked: "undefined", strange: [] });
    expect(seen.texts).toEqual(
      expect.arrayContaining([
        "</script><script>window.hacked = 1</script>",
        '<img src=x onerror="window.hacked = 1">',
        "&lt;b&gt;&#x3c;b&#x3e;",
        "⟨U+202E⟩reversed⟨U+2066⟩",
        "⟨U+D800⟩ alone ⟨U+DC00⟩",
      ]),
    );
    expect(seen.texts.some((text) => text.startsWith("xxxx") && text.endsWith("… (99800 more characters)"))).toBe(true);
  });

  test("what would get in all the same is stopped by the policy", async () => {
    const page = await browser.page(made);
    const outcome = await page.evaluate(`(async () => {
      const refused = (act) => { try { act(); return "allowed"; } catch (error) { return error.name; } };
      const image = new Image();
      image.src = "http://127.0.0.1:9/x.png";
      return {
        markup: refused(() => { document.body.innerHTML += "<p>"; }),
        code: refused(() => { document.createElement("script").text = "window.hacked = 1"; }),
        request: await fetch("http://127.0.0.1:9/").then(() => "allowed", (error) => error.name),
        image: await new Promise((done) => { image.onerror = () => done("stopped"); image.onload = () => done("allowed"); }),
      };
    })()`);
    expect(outcome).toEqual({ markup: "TypeError", code: "TypeError", request: "TypeError", image: "stopped" });
    expect(page.errors.filter((error) => /Content Security Policy/.test(error)).length).toBeGreaterThanOrEqual(2);
  });

  test("100,000 tokens scroll with a bounded number of elements", async () => {
    const page = await open(file("long", longReport()));
    const counts: number[] = [];
    const shown: number[] = [];
    for (const share of [0, 0.25, 0.5, 0.75, 1]) {
      await page.evaluate(
        `(() => { const view = document.getElementById("view"); view.scrollTop = ${share} * view.scrollHeight; })()`,
      );
      await page.drawn();
      counts.push(await page.evaluate(`document.getElementById("view").querySelectorAll("*").length`));
      shown.push(
        await page.evaluate(`(() => {
        const { left, top, height } = document.getElementById("view").getBoundingClientRect();
        const line = document.elementsFromPoint(left + 30, top + height / 2).find((element) => element.classList.contains("token"));
        const near = line ?? document.querySelectorAll("#view .token")[Math.floor(document.querySelectorAll("#view .token").length / 2)];
        return Number(near.dataset.token);
      })()`),
      );
    }
    expect(Math.max(...counts)).toBeLessThan(2000);
    expect(Math.min(...counts)).toBeGreaterThan(50);
    // Each look shows a later part of the 100,000.
    shown.forEach((token, i) => expect(Math.abs(token / COUNT - i / 4)).toBeLessThan(0.05));
    const last = await page.evaluate<{ place: string; size: string }>(
      `(() => { const { ariaPosInSet, ariaSetSize } = [...document.querySelectorAll("#view .token")].at(-1); return { place: ariaPosInSet, size: ariaSetSize }; })()`,
    );
    expect(last).toEqual({ place: "100000", size: "100000" });
    await page.evaluate(`document.getElementById("view").focus()`);
    await page.press("End", 2);
    expect(await active(page)).toBe("token-99999");
    expect(await page.evaluate(`document.getElementById("view").querySelectorAll("*").length`)).toBeLessThan(2000);
  });

  test("tokens lie within their lines, at any width", async () => {
    for (const width of [1280, 390]) {
      const page = await open(made, { width });
      const over = await page.evaluate<number>(
        `[...document.querySelectorAll("#view .row:not(.heading)")].filter((row) => row.scrollWidth > row.clientWidth).length`,
      );
      expect(over).toBe(0);
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
    }
  });

  test("the keyboard moves through the tokens, and the inspector follows", async () => {
    const page = await open(made);
    await page.evaluate(`document.getElementById("view").focus()`);
    expect(await active(page)).toBe("token-0");
    await page.press("ArrowRight");
    await page.press("ArrowRight");
    await page.press("ArrowLeft");
    expect(await active(page)).toBe("token-1");
    expect(await page.evaluate(`document.getElementById("see-place").textContent`)).toMatch(/^2 of /);
    expect(await page.evaluate(`document.querySelectorAll('#view [aria-selected="true"]').length`)).toBe(1);
    await page.press("ArrowDown");
    const below = Number((await active(page))!.slice(6));
    expect(below).toBeGreaterThan(1);
    await page.press("ArrowUp");
    expect(Number((await active(page))!.slice(6))).toBeLessThan(below);
    await page.press("s");
    const span = await page.evaluate<{ begin: number }>(
      `(() => { const { spans } = JSON.parse(document.getElementById("report-data").textContent).steps.at(-1).rollouts[document.getElementById("rollout").selectedIndex]; return spans.find(({ begin }) => "token-" + begin === document.getElementById("view").getAttribute("aria-activedescendant")); })()`,
    );
    expect(span).toMatchObject({ label: expect.stringMatching(/^step \d$/) as string });
    expect(await page.evaluate(`document.querySelector("#see-span dl").textContent`)).toMatch(
      /Step entropy.*Weight before.*Weight after.*Scale/,
    );
    await page.press("Home", 2);
    expect(await active(page)).toBe("token-0");
    // Out of the list again, without a trap.
    await page.press("Tab");
    expect(await page.evaluate(`document.activeElement.id`)).not.toBe("view");
  });

  test("the pointer shows id, log-prob, ratio and clipping of a token", async () => {
    const page = await open(made);
    await page.hover('#view [data-token="7"]');
    const fields = await page.evaluate<Record<string, string>>(
      `Object.fromEntries([...document.querySelectorAll('#inspector dd[id]')].map(({ id, textContent }) => [id.slice(4), textContent]))`,
    );
    const token = await page.evaluate<Record<string, number>>(
      `(() => { const rollout = JSON.parse(document.getElementById("report-data").textContent).steps.at(-1).rollouts[document.getElementById("rollout").selectedIndex]; return { id: rollout.ids[7], logprob: rollout.logProbs[7], ratio: rollout.ratios[7] }; })()`,
    );
    expect(fields).toMatchObject({
      place: expect.stringMatching(/^8 of /) as string,
      id: String(token.id),
      clipped: expect.stringMatching(/^(no|above|below)$/) as string,
    });
    expect(Number(fields.logprob!.replace("−", "-"))).toBeCloseTo(token.logprob!, 12);
    expect(Number(fields.ratio)).toBeCloseTo(token.ratio!, 12);
  });

  test("headings of the table sort, and say so", async () => {
    const page = await open(made);
    const column = (index: number) =>
      page.evaluate<number[]>(
        `[...document.querySelectorAll("section.step:not([hidden]) table.groups tbody tr")].map((row) => Number(row.cells[${index}].dataset.value))`,
      );
    const heading = "section.step:not([hidden]) th:nth-child(3)";
    const first = await column(2);
    await page.click(`${heading} button`);
    expect(await column(2)).toEqual([...first].sort((a, b) => b - a));
    expect(await page.evaluate(`document.querySelector(${JSON.stringify(heading)}).ariaSort`)).toBe("descending");
    expect(await page.evaluate(`document.getElementById("says").textContent`)).toBe("Sorted by reward, descending");
    await page.press("Enter");
    expect(await column(2)).toEqual([...first].sort((a, b) => a - b));
    await page.press("Enter");
    expect(await column(2)).toEqual(first);
  });

  test("the slider goes through the steps, with the keyboard too", async () => {
    const page = await open(made);
    const shown = () =>
      page.evaluate<string[]>(
        `[...document.querySelectorAll("section.step:not([hidden])")].map(({ dataset }) => dataset.step)`,
      );
    expect(await shown()).toEqual(["3"]);
    await page.evaluate(`document.getElementById("step-slider").focus()`);
    await page.press("ArrowLeft");
    expect(await shown()).toEqual(["2"]);
    await page.press("Home");
    expect(await shown()).toEqual(["0"]);
    expect(await page.evaluate(`document.getElementById("step-slider").getAttribute("aria-valuetext")`)).toBe(
      "step 0, 1 of 4",
    );
    expect(await page.evaluate(`document.getElementById("says").textContent`)).toMatch(
      /^Showing step 0: \d warnings?$/,
    );
    expect(await page.evaluate(`document.getElementById("rollout").selectedOptions[0].textContent`)).toMatch(
      /^group problem/,
    );
    await page.click("#step-on");
    expect(await shown()).toEqual(["1"]);
    await page.click("section.step:not([hidden]) tbody tr:nth-child(2) button.open:nth-of-type(3)");
    expect(await page.evaluate(`document.activeElement.id`)).toBe("view");
    expect(await page.evaluate(`document.getElementById("view").ariaLabel`)).toMatch(
      /^Tokens of group problem 2 · rollout 11 /,
    );
  });

  test("assistive technology is told roles and names", async () => {
    const page = await open(made);
    const nodes = await page.accessibleNodes();
    const has = (role: string, name: RegExp) =>
      expect(nodes.filter((node) => node.role === role && name.test(node.name))).not.toEqual([]);
    has("heading", /^Word problems, EMPG$/);
    has("slider", /^Step$/);
    has("list", /^Warnings$/);
    has("table", /^Groups of step 180/);
    has("columnheader", /^Reward$/);
    has("rowheader", /^A store has 9 boxes with 12 candles each\./);
    has("image", /^Histogram of entropy over [\d,]+ values: mean/);
    has("combobox", /^Rollout$/);
    has("radio", /^surprisal$/);
    has("listbox", /^Tokens of group problem \d+ · rollout/);
    has("option", /entropy .*log-prob −.*advantage [+−]/);
    has("option", /^“.*”, begins step 1, step entropy .* nats, weight .* → /);
    has("button", /^Show rollout 1 of group problem 1, reward/);
    expect(
      nodes.filter(
        ({ role, name }) =>
          ["button", "slider", "radio", "combobox", "listbox", "option", "image", "link"].includes(role) && name === "",
      ),
    ).toEqual([]);
  });

  test.each([
    ["light", 1280],
    ["dark", 390],
  ] as const)("axe finds nothing wrong: %s, %i pixels wide, and on paper", async (scheme, width) => {
    const page = await open(few, { scheme, width });
    await page.evaluate(`document.getElementById("view").focus()`);
    expect(await violationsOf(page)).toEqual([]);
    await toPaper(page);
    expect(await violationsOf(page, OF_PAPER)).toEqual([]);
  });

  test("light and dark are the reader's, and so is less motion", async () => {
    const page = await open(made, { scheme: "light" });
    const look = () =>
      page.evaluate<{ paper: string; motion: string }>(
        `({ paper: getComputedStyle(document.body).backgroundColor, motion: getComputedStyle(document.documentElement).scrollBehavior })`,
      );
    expect(await look()).toEqual({ paper: "rgb(251, 250, 247)", motion: "auto" });
    await page.setMedia("dark", false);
    expect(await look()).toEqual({ paper: "rgb(18, 17, 23)", motion: "smooth" });
  });

  test("paper gets the tokens laid out whole, and no controls", async () => {
    const page = await open(made);
    await toPaper(page);
    const paper = await page.evaluate<{ tokens: number; all: number; toolbar: string }>(`({
      tokens: document.querySelectorAll("#view .token").length,
      all: Number(document.querySelector("#view .token").ariaSetSize),
      toolbar: getComputedStyle(document.querySelector(".toolbar")).display,
    })`);
    expect(paper.tokens).toBe(paper.all);
    expect(paper.toolbar).toBe("none");
  });

  test("with scripts off the last step can still be read", async () => {
    const page = await open(made, { scripts: false });
    const nodes = await page.accessibleNodes();
    expect(nodes.filter(({ role }) => role === "slider" || role === "listbox")).toEqual([]);
    expect(nodes.some(({ role, name }) => role === "table" && name.startsWith("Groups of step 180"))).toBe(true);
    expect(nodes.some(({ name }) => name.startsWith("Scripts are off"))).toBe(true);
  });
}
