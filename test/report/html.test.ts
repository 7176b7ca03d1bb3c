import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Report, renderHtml } from "../../lib/report";
import { LIVE_SCRIPT, LIVE_STYLE, SCRIPTS, STYLES } from "../../lib/report/html/embedded";
import { renderLive } from "../../lib/report/html/render";
import { errorCode } from "../support/error-code";
import { HOSTILE, hostileReport, wholeHostileReport } from "./hostile";
import { step } from "./made";

const between = (page: string, start: string, end: string): string =>
  page.slice(page.indexOf(start) + start.length, page.indexOf(end, page.indexOf(start) + start.length));
const hashOf = (text: string): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
const dataOf = (page: string) =>
  JSON.parse(between(page, '<script type="application/json" id="report-data">', "</script>")) as {
    pieces: string[];
    steps: { rollouts: { pieces: number[]; total: number; index: number }[] }[];
  };

const small: Report = {
  title: "small",
  steps: [
    step(
      "one",
      { group: "a", reward: 1, ids: [1, 2], tokens: ["x", " y"] },
      { group: "a", reward: 0, ids: [3], tokens: ["x"] },
    ),
  ],
};

test("the policy is the first thing after the character set and names the very style and script by hash", () => {
  const page = renderHtml(small);
  const head = page.slice(0, page.indexOf("<title>"));
  expect(head).toMatch(
    /^<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy"/,
  );
  const policy = between(page, 'http-equiv="Content-Security-Policy" content="', '"').replaceAll("&#39;", "'");
  expect(policy.split("; ")).toEqual([
    "default-src 'none'",
    "connect-src 'none'",
    `script-src ${hashOf(between(page, "<script>", "</script>"))}`,
    `style-src ${hashOf(between(page, "<style>", "</style>"))}`,
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ]);
});

test("a live page differs by a switch, a script and the right to ask its own server; what could not be read is text", () => {
  const live = { revision: "r 1", steps: 1, rollouts: 2, problems: ["<b>x.jsonl</b>", ...Array<string>(7).fill("y")] };
  const page = renderLive(small, live);
  const policy = between(page, 'Content-Security-Policy" content="', '"').replaceAll("&#39;", "'").split("; ");
  expect(policy.slice(0, 3)).toEqual([
    "default-src 'none'",
    "connect-src 'self'",
    `script-src ${hashOf(between(page, "<script>", "</script>"))}`,
  ]);
  expect(between(page, "<script>", "</script>")).toContain("EventSource");
  expect(renderHtml(small)).not.toMatch(/EventSource|id="follow"/);
  expect(page).toMatch(/role="switch" id="follow"/);
  expect(page).toContain("&lt;b&gt;x.jsonl&lt;/b&gt;");
  expect(page).toContain("<bdi>3 more</bdi>");
  expect(renderLive({ steps: [] }, { ...live, problems: [] })).toContain("No rollouts yet.");
});

test("nothing in it is an address", () => {
  const page = renderHtml(small);
  expect(page.replaceAll("http://www.w3.org/2000/svg", "")).not.toMatch(/(?:https?:)?\/\/[a-z]/i);
  expect(page).not.toMatch(/@import|url\(/);
});

test("every file of the page is in it, and none of them can end its element", () => {
  const folder = join(__dirname, "../../lib/report/page");
  const files = [...STYLES, ...SCRIPTS, LIVE_STYLE, LIVE_SCRIPT];
  expect(
    readdirSync(folder)
      .filter((name) => name !== "tsconfig.json")
      .sort(),
  ).toEqual([...files].sort());
  for (const name of files) expect(readFileSync(join(folder, name), "utf8")).not.toMatch(/<\/|<!--|\0|\r/);
});

test.each([
  ...HOSTILE.map((text, i) => [String(i), hostileReport(text)] as const),
  ["all", wholeHostileReport()] as const,
])("hostile text %s does not reach the markup", (_, report) => {
  const page = renderHtml(report);
  const data = between(page, '<script type="application/json" id="report-data">', "</script>");
  // Elements of the report alone: without what the page carries in itself.
  const markup = [between(page, "<script>", "</script>"), between(page, "<style>", "</style>"), data].reduce(
    (rest, part) => rest.replace(part, () => ""),
    page,
  );
  expect(markup.match(/<\/?script[ >]/g)).toHaveLength(4);
  expect(markup.match(/<(?:img|iframe|base|object|embed|form)[\s>]/gi)).toBeNull();
  expect(markup.match(/<[a-z][^<>"]*(?:"[^"]*"[^<>"]*)*\son[a-z]+=/gi)).toBeNull();
  expect(markup.replaceAll("\n", "").match(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu)).toBeNull();
  expect(data.match(/[<>&\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu)).toBeNull();
  expect(dataOf(page).steps).toHaveLength(report.steps.length);
});

test("facts are cut at 300 characters, titles of them at 80", () => {
  const { steps } = wholeHostileReport();
  const facts = { ["n".repeat(90)]: "v".repeat(301), whole: "w".repeat(300) };
  const page = renderHtml({ title: "cut", facts, steps });
  expect(page).toContain(`<dt>${"n".repeat(80)}…</dt><dd><bdi>${"v".repeat(300)}…</bdi></dd>`);
  expect(page).toContain(`<bdi>${"w".repeat(300)}</bdi>`);
});

test("data come back as they went in, made visible", () => {
  const { pieces, steps } = dataOf(
    renderHtml({ steps: [step("s", { ids: [1, 2, 1], tokens: ["</script>", "\u202E&", "</script>"] })] }),
  );
  expect(pieces).toEqual(["</script>", "⟨U+202E⟩&"]);
  expect(steps[0]!.rollouts[0]!.pieces).toEqual([0, 1, 0]);
});

test("the limits are kept, and the page says so", () => {
  const many = {
    steps: [
      step("s", ...Array.from({ length: 12 }, (_, i) => ({ group: `g${i >> 1}`, reward: i % 2, ids: [1, 2, 3, 4] }))),
    ],
  };
  const page = renderHtml(many, { maxGroups: 2, maxRollouts: 7, maxTokens: 1000 });
  expect(page.match(/<tr data-place/g)).toHaveLength(2);
  expect(page).toContain("The first 2 groups of 6 groups");
  expect(page).toContain("The tokens of 7 rollouts out of 12 are here");
  // One of each group, then a second one of the first.
  expect(dataOf(page).steps[0]!.rollouts.map(({ index }) => index)).toEqual([0, 1, 2, 4, 6, 8, 10]);
  const cut = renderHtml(many, { maxTokens: 3 });
  expect(cut).toContain(
    "The tokens of 1 rollout out of 12 are here; the numbers above are of all. 1 rollout is cut to what fits.",
  );
  expect(dataOf(cut).steps[0]!.rollouts[0]).toMatchObject({ total: 4, pieces: [0, 1, 2] });
  const long = dataOf(
    renderHtml({ steps: [step("s", { ids: [1], tokens: ["y".repeat(500)] })] }, { maxTokenCharacters: 10 }),
  );
  expect(long.pieces).toEqual(["yyyyyyyyyy… (490 more characters)"]);
});

const dump = (count: number) => ({
  steps: [
    step(
      "s",
      ...Array.from({ length: count }, (_, i) => ({
        group: `g${i >> 1}`,
        prompt: `How many\n are ${i >> 1}?`,
        text: `<b>${i}</b>`,
        reward: i % 2,
        rewards: { format: 0.5 },
        meta: { gts: "4 & 5", nested: [1] },
      })),
    ),
  ],
});

test("rollouts without tokens are read as text, with their numbers and fields", () => {
  const page = renderHtml(dump(4));
  expect(page).not.toContain('id="tokens"');
  expect(page).toContain("<h4><bdi>How many are 1?</bdi>");
  expect(page).toContain('<pre class="response" dir="auto" tabindex="0">&lt;b&gt;3&lt;/b&gt;</pre>');
  const article = /<article class="rollout" id="0\/3"[^]*?<\/article>/.exec(page)![0];
  const pairs = Array.from(article.matchAll(/<dt>(.*?)<\/dt><dd>(.*?)<\/dd>/g), ([, name, value]) => [name, value]);
  expect(pairs).toEqual([
    ["reward", "1"],
    ["format", "0.5"],
    ["gts", "<bdi>4 &amp; 5</bdi>"],
  ]);
  expect(page).toContain('<a class="open" href="#0/3"');
});

test("texts beyond the limits are counted, those of each group last", () => {
  const page = renderHtml(dump(6), { maxTexts: 4, maxTextCharacters: 3 });
  const shown = Array.from(page.matchAll(/<article class="rollout" id="0\/(\d)"/g), ([, index]) => Number(index));
  expect(shown).toEqual([0, 1, 2, 4]);
  expect(page).toContain("The texts of 4 rollouts out of 6 are here");
  expect(page).toContain("&lt;b&gt;… (5 more characters)");
  expect(renderHtml(dump(6), { maxTexts: 0 })).not.toContain("<article");
});

test("texts beyond those at once wait in a template, in parts where a group is larger", () => {
  const shown = (part: string): number[] =>
    Array.from(part.matchAll(/<article class="rollout" id="0\/(\d)"/g), ([, index]) => Number(index));
  const page = renderHtml(dump(7), { textsAtOnce: 4 });
  const [now, later] = page.split('<template class="later-texts">');
  expect([shown(now!), shown(later!)]).toEqual([
    [0, 1, 2, 3],
    [4, 5, 6],
  ]);
  expect(page).toContain('<noscript><p class="cap">Scripts are off: the first of 7 rollouts are here.</p></noscript>');
  const single = renderHtml(dump(4), { textsAtOnce: 1 });
  expect(single).toContain("2 rollouts, 1 to 1</small>");
  expect(single).toContain("2 rollouts, 2 to 2</small>");
  expect(renderHtml(dump(7))).not.toContain("<template");
});

test("without a step, a rollout or a token there is still a page", () => {
  expect(renderHtml({ steps: [] })).toContain("No rollouts.");
  expect(renderHtml({ steps: [{ label: "empty", rollouts: [] }] })).toContain("0 rollouts");
  expect(renderHtml({ steps: [step("s", { text: "words only" })] })).toContain("words only");
});

test("numbers beyond all measure leave a drawing that is valid", () => {
  const page = renderHtml({
    steps: [
      step(
        "s",
        { group: 1, reward: 1e308, ids: [1] },
        { group: 1, reward: -1.7e308, ids: [1] },
        { group: 1, reward: Infinity, ids: [1] },
      ),
    ],
  });
  expect(page.match(/ (?:x|y|[xy][12]|cx|cy|width|height|points)="[^"]*(?:NaN|Infinity)/g)).toBeNull();
  expect(page).toContain("1 reward value is not finite");
});

test("limits that are no whole numbers, and broken rollouts, are refused", () => {
  expect(errorCode(() => renderHtml(small, { maxTokens: 0.5 }))).toBe("ERR_SURPRISAL_OPTION");
  expect(errorCode(() => renderHtml({ steps: [step("s", { ids: [1], mask: [1, 1] })] }))).toBe("ERR_SURPRISAL_SHAPE");
});
