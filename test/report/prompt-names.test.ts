// What groups are called, and conversations as they are shown.
import { renderHtml, renderTerminal, summarize } from "../../lib/report";
import { readable } from "../../lib/report/conversation";
import { promptNames } from "../../lib/report/prompt-names";
import { step } from "./made";

const SYSTEM = "system\nYou are a helpful assistant. Answer in one number.\nuser\n";
const chat = (text: string): string =>
  JSON.stringify([
    { role: "system", content: "You are a helpful assistant. Answer in one number." },
    { role: "user", content: text },
  ]);

test.each([
  ["the first words, on one line", ["What  is\n2+2?", "And 3+3?"], ["What is 2+2?", "And 3+3?"]],
  [
    "without the lines that all prompts begin with",
    [`${SYSTEM}How far is 2+2?`, `${SYSTEM}How much is 3+3?`],
    ["… How far is 2+2?", "… How much is 3+3?"],
  ],
  [
    "without the words that all begin with, where they are many",
    ["Solve this problem step by step: 12 apples", "Solve this problem step by step: 13 pears"],
    ["… 12 apples", "… 13 pears"],
  ],
  ["with the few words that all begin with", ["Problem 1", "Problem 2"], ["Problem 1", "Problem 2"]],
  ["of one prompt its first words", [SYSTEM, SYSTEM], Array<string>(2).fill(SYSTEM.replaceAll("\n", " ").trim())],
  [
    "of a prompt that the others begin with its own first words",
    [SYSTEM, `${SYSTEM}2+2?`],
    [SYSTEM.replaceAll("\n", " ").trim(), "… 2+2?"],
  ],
  ["of conversations what is said in them", [chat("2+2?"), chat("3+3?")], ["… 2+2?", "… 3+3?"]],
  ["none where there are no words", ["", " \n", undefined, "a"], [undefined, undefined, undefined, "a"]],
] as const)("%s", (_, prompts, names) => {
  expect(promptNames(prompts)).toEqual(names);
});

test("no more than 72 characters, and no half of one", () => {
  const [name] = promptNames(["👍".repeat(100), "x"]);
  expect(name).toBe(`${"👍".repeat(72)}…`);
});

test("100,000 prompts with a long beginning in common are read once each", () => {
  let read = 0;
  const prompts = Array.from({ length: 100_000 }, (_, i) => `${SYSTEM.repeat(4)}${i}?`);
  const counting = new Proxy(prompts, {
    get(target, key, receiver) {
      if (typeof key === "string" && /^\d+$/.test(key)) ++read;
      return Reflect.get(target, key, receiver) as unknown;
    },
  });
  const names = promptNames(counting);
  expect([names[7], names.at(-1), read]).toEqual(["… 7?", "… 99999?", prompts.length]);
});

describe("a conversation", () => {
  test("is shown as who says what", () => {
    expect(readable(chat("2+2?"))).toBe("system\nYou are a helpful assistant. Answer in one number.\n\nuser\n2+2?");
  });

  test("of one message is that message; parts are joined, and what is no text stays JSON", () => {
    const message = (content: unknown, more: object = {}): string =>
      JSON.stringify([{ role: "assistant", content, ...more }]);
    expect(readable(message("4"))).toBe("4");
    expect(
      readable(
        message([
          { type: "text", text: "look" },
          { type: "image", index: 0 },
        ]),
      ),
    ).toBe('look\n{"type":"image","index":0}');
    expect(readable(message(null, { tool_calls: [{ name: "f" }], refusal: null }))).toBe(
      '{"tool_calls":[{"name":"f"}]}',
    );
  });

  test.each(['[{"a": 1}]', '[{"role": 1}]', "[{ not JSON", "[]", '{"role": "user"}', "plain"])("%s is none", (text) => {
    expect(readable(text)).toBe(text);
  });
});

test("page, terminal and data name groups alike", () => {
  const steps = [
    step(
      "s",
      { group: "prompt-1", prompt: `${SYSTEM}2+2?`, text: "4", reward: 1 },
      { group: "prompt-2", prompt: `${SYSTEM}3+3?`, text: "5", reward: 0 },
    ),
  ];
  const summary = summarize(steps);
  expect(summary.steps[0]!.groups.map(({ group, name }) => [group, name])).toEqual([
    ["prompt-1", "… 2+2?"],
    ["prompt-2", "… 3+3?"],
  ]);
  const page = renderHtml({ steps });
  expect(page).toContain("<bdi>… 2+2?</bdi>");
  // What no rollout has, such as tokens, is not there; it is not 0.
  expect(page).toContain("<small>2 rollouts · 2 groups</small>");
  expect(renderTerminal(summary)).toContain("  … 3+3?");
});
