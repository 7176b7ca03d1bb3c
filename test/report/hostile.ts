// Texts that try to be more than text, and a report that has one in every place where text can stand.
import type { Report, ReportRollout } from "../../lib/report";

export const HOSTILE = [
  "</script><script>window.hacked = 1</script>",
  '<img src=x onerror="window.hacked = 1">',
  '"><svg onload="window.hacked = 1">',
  "' autofocus onfocus='window.hacked = 1",
  "<!--<script>",
  "</title></style></textarea>--><iframe srcdoc='<script>parent.hacked = 1</script>'>",
  "<base href='https://example.com/'><link rel=stylesheet href='https://example.com/x.css'>",
  "&lt;b&gt;&#x3c;b&#x3e;",
  "javascript:window.hacked=1",
  "\u202Ereversed\u2066",
  "line\u2028separator\u2029",
  "\uD800 alone \uDC00",
  "\u0000\u0007\u001B[31mred\u001B]0;title\u0007\u009B2J",
  "\uFEFF\u200B\u200D\u00AD\u{E0041}",
  `o${"\u0301\u0489".repeat(60)}`,
  "x".repeat(100_000),
  "${window.hacked = 1}{{7*7}}",
  "\r\n\t",
  "__proto__",
  "",
] as const;

/** A report with `text` in each place. */
export function hostileReport(text: string): Report {
  const rollout: ReportRollout = {
    group: text,
    prompt: text,
    text,
    finishReason: text,
    reward: 1,
    tokenIds: Int32Array.of(1, 2, 3),
    tokens: [text, `a${text}`, text],
    entropies: Float64Array.of(0.1, NaN, Infinity),
    oldLogProbs: Float64Array.of(-1, -Infinity, -2),
    advantages: Float64Array.of(1, -1, 0),
    spans: [{ begin: 0, finish: 2, label: text, entropy: NaN, before: 1, after: Infinity }],
  };
  const wordless: ReportRollout = { group: text, text, reward: 0 };
  return {
    title: text,
    steps: [
      { label: text, rollouts: [rollout, wordless] },
      { label: `${text}2`, rollouts: [wordless] },
      { label: text, rollouts: [rollout, wordless] },
    ],
    facts: { [text]: text },
  };
}

/** All of them in one report: a rollout each, also as the tokens of one rollout. */
export function wholeHostileReport(): Report {
  const parts = HOSTILE.map(hostileReport);
  const tokens = [...HOSTILE];
  const mixed: ReportRollout = {
    group: HOSTILE[0],
    tokenIds: Int32Array.from(tokens, (_, i) => i),
    tokens,
    entropies: Float64Array.from(tokens, (_, i) => i / 10),
    reward: 0.5,
  };
  return {
    title: HOSTILE[0],
    steps: [
      { label: HOSTILE[1], rollouts: [mixed] },
      { label: HOSTILE[0], rollouts: [...parts.flatMap(({ steps }) => steps[0]!.rollouts), mixed] },
    ],
    facts: Object.fromEntries(HOSTILE.map((text) => [text, text])),
  };
}
