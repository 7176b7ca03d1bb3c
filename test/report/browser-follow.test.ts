// A page that follows a run, in a real browser: `surprisal view` serves it.
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { jsonl } from "../cli/in-process";
import { RunningView } from "../cli/running-view";
import { Browser, type Page, type PageOptions } from "../support/chromium/browser";
import { findChromium } from "../support/chromium/install";
import { violationsOf } from "./axe";

const chromium = findChromium();

/** Two groups of four, as a trainer's dump of one step. */
const stepOf = (step: number): object[] =>
  Array.from({ length: 8 }, (_, i) => ({
    step,
    group: `p${i >> 2}`,
    prompt: `Problem ${i >> 2} of step ${step}`,
    text: `${"It goes on.\n".repeat(20)}Answer ${i} of step ${step}.`,
    reward: (i % 4) / 4,
  }));

if ("missing" in chromium) test.skip(`a page that follows a run, in a browser: ${chromium.missing}`, () => undefined);
else {
  let browser: Browser;
  let run: string;
  let view: RunningView;
  let page: Page;

  /** The file of these steps appears whole. */
  const write = (name: string, ...steps: readonly number[]): void => {
    const hidden = join(run, ".partial");
    writeFileSync(hidden, jsonl(steps.flatMap(stepOf)));
    renameSync(hidden, join(run, name));
  };
  const open = async (options?: PageOptions, hash = ""): Promise<void> => {
    page = await browser.page(`${await view.address()}${hash}`, options);
  };
  const says = () => page.evaluate<string>(`document.getElementById("says").textContent`);
  const shown = () => page.evaluate<string>(`document.querySelector("section.step:not([hidden]) h2 bdi").textContent`);
  /** Until the news beside the switch are these. */
  const news = (text: string): Promise<unknown> =>
    page.evaluate(`new Promise((done) => {
      const news = document.getElementById("news");
      const look = () => news.textContent === ${JSON.stringify(text)} && done(0);
      new MutationObserver(look).observe(news, { childList: true });
      look();
    })`);
  const set = (selector: string, value: string, event: string): Promise<unknown> =>
    page.evaluate(
      `(() => { const one = document.querySelector("${selector}"); one.value = ${JSON.stringify(value)}; one.dispatchEvent(new Event("${event}", { bubbles: true })); })()`,
    );

  beforeAll(() => {
    browser = new Browser(chromium.path);
  });
  beforeEach(() => {
    run = mkdtempSync(join(tmpdir(), "surprisal-follow-"));
    write("1.jsonl", 1);
    view = new RunningView([run]);
  });
  afterEach(async () => {
    expect(page.errors).toEqual([]);
    await page.close();
    expect((await view.stop()).code).toBe(0);
    rmSync(run, { recursive: true, force: true });
  });
  afterAll(() => browser.close());

  test("new steps are shown as they come, and are said; the page asks its own server alone", async () => {
    await open();
    await news("up to date");
    expect(await says()).toBe("");
    const loaded = page.nextLoad();
    write("2.jsonl", 2, 3);
    await loaded;
    expect(await says()).toBe("2 new steps");
    expect(await shown()).toBe("2.jsonl, step 3");
    const address = await view.address();
    expect(new Set(page.requests)).toEqual(new Set([address, `${address}events`]));
    expect(await page.evaluate(`fetch("http://127.0.0.1:9/").then(() => "allowed", (error) => error.name)`)).toBe(
      "TypeError",
    );
    expect(page.errors.splice(0).join()).toMatch(/Content Security Policy/);
  });

  test("who looks at an older step stays there, with search, order, place and focus", async () => {
    write("2.jsonl", 2);
    await open({ height: 500 });
    await news("up to date");
    await set("#step-slider", "0", "input");
    const step = "section.step:not([hidden])";
    await set(`${step} .search`, "Answer", "input");
    await set(`${step} .show`, "best", "change");
    await page.evaluate(`document.getElementById("0/7").focus(), scrollTo({ top: 400, behavior: "instant" })`);
    const loaded = page.nextLoad();
    write("3.jsonl", 3);
    await loaded;
    await page.drawn();
    expect(await shown()).toBe("1.jsonl, step 1");
    expect(
      await page.evaluate(`({
        search: document.querySelector("${step} .search").value,
        show: document.querySelector("${step} .show").value,
        found: document.querySelector("${step} .found").textContent,
        focus: document.activeElement.id,
        top: scrollY,
        last: document.getElementById("step-slider").max,
      })`),
    ).toEqual({ search: "Answer", show: "best", found: "2 of 8 rollouts", focus: "0/7", top: 400, last: "2" });
    expect(await says()).toBe("1 new step");
  });

  test("a link to a rollout stays a link to it", async () => {
    await open(undefined, "#0/2");
    await news("up to date");
    const loaded = page.nextLoad();
    write("2.jsonl", 2);
    await loaded;
    expect(await shown()).toBe("1.jsonl, step 1");
    expect(await page.evaluate(`[location.hash, document.activeElement.id]`)).toEqual(["#0/2", "0/2"]);
  });

  test("the switch turns following off and on by the keyboard, and says what there is", async () => {
    await open();
    await news("up to date");
    const nodes = await page.accessibleNodes();
    expect(nodes.filter(({ role }) => role === "switch")).toMatchObject([
      { name: "Follow", properties: { checked: "true" } },
    ]);
    await page.evaluate(`(window.same = true, document.getElementById("follow").focus())`);
    await page.press(" ");
    await news("stands still");
    write("2.jsonl", 2);
    await news("1 new step");
    expect(await says()).toBe("1 new step");
    expect(await page.evaluate(`window.same`)).toBe(true);
    const loaded = page.nextLoad();
    await page.press(" ");
    await loaded;
    expect(await shown()).toBe("2.jsonl, step 2");
    expect(await page.evaluate(`[document.getElementById("follow").checked, document.activeElement.id]`)).toEqual([
      true,
      "follow",
    ]);
  });

  test("nobody who types is interrupted", async () => {
    await open();
    await news("up to date");
    await page.press("/");
    await page.press("A");
    await page.evaluate(`(window.same = true)`);
    write("2.jsonl", 2);
    await news("1 new step");
    expect(await page.evaluate(`[window.same, document.activeElement.value]`)).toEqual([true, "A"]);
    const loaded = page.nextLoad();
    await page.evaluate(`document.activeElement.blur()`);
    await loaded;
    expect(await shown()).toBe("2.jsonl, step 2");
  });

  test("a viewer that has ended is said", async () => {
    await open();
    await news("up to date");
    await view.stop();
    await news("the viewer does not answer");
    page.errors.splice(0); // what a browser says of a connection that was closed
  });

  test("without scripts the newest step can be read, and no switch is there that does nothing", async () => {
    write("2.jsonl", 2);
    await open({ scripts: false });
    const nodes = await page.accessibleNodes();
    expect(nodes.filter(({ role }) => role === "switch")).toEqual([]);
    expect(nodes.some(({ name }) => name.includes("Loading the page again shows what is new"))).toBe(true);
    expect(nodes.some(({ name }) => name.startsWith("2.jsonl, step 2"))).toBe(true);
  });

  test.each([
    ["light", 1280],
    ["dark", 390],
  ] as const)("axe finds nothing wrong: %s, %i pixels wide", async (scheme, width) => {
    writeFileSync(join(run, `broken-${"long".repeat(30)}.json`), '{"learning_rate": 1}');
    await open({ scheme, width });
    await news("up to date");
    expect(await violationsOf(page)).toEqual([]);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
    expect(await page.evaluate(`document.querySelector(".problems").textContent`)).toContain("no known dialect");
  });
}
