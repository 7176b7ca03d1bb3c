// Answers found and compared by value.
import * as fc from "fast-check";
import { finalAnswer } from "../../lib/reward";
import { Budget, STEPS } from "../../lib/reward/math/budget";
import { compareMath } from "../../lib/reward/math/math-equal";
import { parseAnswer } from "../../lib/reward/math/parse-answer";
import { built } from "../support/built-reward";
import { PAIRS } from "./math-pairs";

const options = { timeLimit: 20_000 };

test.each(PAIRS)(
  "$answer against $wanted",
  async ({ answer, wanted, equal }) => {
    expect(await built.mathEqual(answer, wanted, options)).toBe(equal);
  },
  60_000,
);

test("the pairs that exact arithmetic decides, in this process", async () => {
  const asked = await Promise.all(
    PAIRS.map(async (pair) => ({
      ...pair,
      said: await compareMath("mathEqual", pair.answer, pair.wanted, { symbolic: false }),
    })),
  );
  // The others are asked of a library, above.
  const decided = asked.filter(({ said, equal }) => said === "equal" || !equal);
  expect(decided.length).toBeGreaterThan(0.8 * PAIRS.length);
  expect(decided.filter(({ said, equal }) => (said === "equal") !== equal)).toEqual([]);
});

test.each([
  [String.raw`5 \pi m`, String.raw`5\pi\text{ m}`, "equal"],
  [String.raw`5 \pi m`, String.raw`5\text{ m}`, "different"],
  [String.raw`x \cdot x \cdot y`, "x^2 y", "equal"],
  [String.raw`x^2 y \cdot x y^3`, "x^3 y^4", "equal"],
  [String.raw`x^2 y \cdot x^{-2}`, "y", "equal"],
  [String.raw`x^2 y \cdot x`, "x^5 y", "different"],
])("%s against %s: %s", async (answer, wanted, comparison) => {
  expect(await compareMath("mathEqual", answer, wanted, { symbolic: false })).toBe(comparison);
});

test("a percent is a hundredth, or by an option the number, too", async () => {
  expect(await built.mathEqual("50", String.raw`50\%`)).toBe(false);
  expect(await built.mathEqual("50", String.raw`50\%`, { percent: "either" })).toBe(true);
  expect(await built.mathEqual("0.5", String.raw`50\%`, { percent: "either" })).toBe(true);
  await expect(built.mathEqual("1", "1", { percent: "both" as "either" })).rejects.toThrow('percent is "both"');
});

test("a tolerance is for numbers that are written out", async () => {
  expect(await built.mathEqual("3.14", "3.14159", { tolerance: 1e-3 })).toBe(true);
  expect(await built.mathEqual("3.14", "3.14159")).toBe(false);
});

test("a question that takes too long is different, and the next one has an answer", async () => {
  const hard = Array.from({ length: 40 }, (_, i) => String.raw`(x+${i + 1})^{${i + 9}}`).join("");
  const [late, next] = await built.mathReward(
    [String.raw`\boxed{${hard}}`, String.raw`\boxed{\sqrt{12}}`],
    [`1+${hard}+x`, String.raw`2\sqrt{3}`],
    { timeLimit: 1 },
  );
  expect(late).toMatchObject({ reward: 0, reason: "time limit" });
  expect(next!.reason).toMatch(/equal|time limit/);
  expect(await built.mathEqual(String.raw`\sqrt{12}`, String.raw`2\sqrt{3}`, options)).toBe(true);
});

test("integers and fractions are compared exactly", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }),
      fc.bigInt({ min: 1n, max: 10n ** 30n }),
      async (n, d) => {
        const latex = n < 0n ? `-\\frac{${-n}}{${d}}` : `\\frac{${n}}{${d}}`;
        expect(await compareMath("mathEqual", `${3n * n}/${3n * d}`, latex, { symbolic: false })).toBe("equal");
        expect(await compareMath("mathEqual", `${n}/${d} + 10^{-60}`, latex, { symbolic: false })).toBe("different");
      },
    ),
  );
});

test("nothing that is 0 at known points can be added to an answer", async () => {
  const old = ["0.3731", "-0.6217", "1.4142857", "-1.7320491", "2.6180315", "0.0917", "-3.1419", "5.4365"];
  const zero = old.map((point) => `(x-(${point}))`).join("");
  expect(await built.mathEqual(String.raw`\sin x + ${zero}`, String.raw`\sin x`, options)).toBe(false);
  expect(await built.mathEqual("x_{a^1*y}", "x_a y", options)).toBe(false);
});

/** What made extraction or comparing hang, or would. */
const ATTACKS: Readonly<Record<string, (n: number) => string>> = {
  "nested braces": (n) => "{".repeat(n) + "}".repeat(n),
  "nested sets": (n) => "\\{".repeat(n) + "1" + "\\}".repeat(n),
  "nested parentheses": (n) => "(".repeat(n) + "1" + ")".repeat(n),
  "open brackets": (n) => "(".repeat(n),
  "plus-minus signs": (n) => "1" + "\\pm 1".repeat(n),
  "plus-minus in front": (n) => "\\pm".repeat(n) + "1",
  blanks: (n) => `1${" ".repeat(n)}2`,
  "fractions in fractions": (n) => "\\frac{".repeat(n) + "1" + "}{2}".repeat(n),
  powers: (n) => "9^".repeat(n) + "9",
  factorials: (n) => `9${"!".repeat(n)}`,
  bars: (n) => "|x".repeat(n),
  "thousands, almost": (n) => "1,234".repeat(n),
  "roots of roots": (n) => "\\sqrt".repeat(n) + "2",
  brackets: (n) => "(x+1)".repeat(n),
  "sums of roots": (n) => Array.from({ length: n }, (_, i) => `\\sqrt{${i + 2}}`).join("+"),
  "unions of intervals": (n) => Array.from({ length: n }, (_, i) => `(${i},${i + 1})`).join("\\cup "),
  lists: (n) => Array.from({ length: n }, (_, i) => `\\sin ${i}`).join(","),
  digits: (n) => "9".repeat(n),
  matrices: (n) => `\\begin{pmatrix}${"1&".repeat(n)}`,
};

test.each(Object.keys(ATTACKS))("%s take a number of steps that is linear in their length to read", (name) => {
  for (const n of [20, 80, 320]) {
    const text = ATTACKS[name]!(n).slice(0, 1000);
    const budget = new Budget(STEPS);
    try {
      parseAnswer(text, budget);
    } catch {
      // No answer: what counts is what that took.
    }
    expect(STEPS - budget.rest).toBeLessThanOrEqual(8 * text.length + 20);
  }
});

test.each(Object.keys(ATTACKS))("%s are compared within the steps that two answers have", async (name) => {
  for (const n of [20, 320]) {
    const text = ATTACKS[name]!(n);
    for (const wanted of ["1", text, `${text} `.replace("1", "2")]) {
      const budget = new Budget(STEPS);
      await compareMath("mathEqual", text, wanted, { symbolic: false }, budget);
      // What goes over them ends the comparison; nothing goes far over.
      expect(budget.rest).toBeGreaterThan(-STEPS / 10);
    }
  }
});

test.each<[string, string]>([
  ["boxes that are never closed", "\\boxed{".repeat(40_000)],
  ["boxes without braces", "\\boxed ".repeat(40_000)],
  ["blanks behind a box", `\\boxed${" ".repeat(50_000)}x`],
  ["a box with braces in braces", `\\boxed{${"{".repeat(40)}${"}".repeat(40)}}`],
  ["answer tags that are never closed", "<answer>".repeat(40_000)],
  ["markers", "#### ".repeat(40_000)],
  ["number signs", "#".repeat(200_000)],
  ["blanks behind a phrase", `the answer is 5${" ".repeat(50_000)}x`],
  ["phrases", "answer is ".repeat(40_000)],
  ["phrases with points", "answer is . ".repeat(40_000)],
  ["stars", `answer: ${"*".repeat(50_000)}x`],
  ["thinking that begins again and again", "<think>".repeat(40_000)],
])(
  "%s do not hold up the search for an answer",
  async (_, text) => {
    const wanted = `${"{".repeat(40)}1${"}".repeat(40)}`;
    const [result] = await built.mathReward([text], [wanted], { symbolic: false });
    // Comes after minutes or never, where finding is not linear.
    expect(result!.reward).toBe(0);
  },
  120_000,
);

test("braces round an answer are no part of it, and so many that nobody writes them do not hold it up", async () => {
  const within = (n: number): string => `\\boxed{${"{".repeat(n)}1${"}".repeat(n)}}`;
  const results = await built.mathReward([within(10), within(40), within(20_000)], ["1", "1", "1"], {
    symbolic: false,
  });
  expect(results.map(({ reward }) => reward)).toEqual([1, 0, 0]);
});

test("the answer is looked for in the last 50,000 characters", () => {
  const filler = "x".repeat(50_000);
  expect(finalAnswer(`${filler}#### 4`)).toBe("4");
  expect(finalAnswer(`#### 4\n${filler}`)).toBeNull();
});

test("a pair that took too long is not asked about again, unless it has more time", async () => {
  const [a, b] = [String.raw`\int_0^{1} \sin(x^{x^x}) e^{-x^{17}} \, dx`, "17"];
  expect(await compareMath("mathEqual", a, b, { timeLimit: 0.001 })).toBe("time limit");
  let again: string | undefined;
  void compareMath("mathEqual", a, b, { timeLimit: 0.001 }).then((comparison) => (again = comparison));
  // No worker answers before this turn of the event loop is over.
  for (let i = 0; i < 100; ++i) await Promise.resolve();
  expect(again).toBe("time limit");
  expect(await compareMath("mathEqual", a, b, { timeLimit: 60_000 })).toBe("different");
});

test.each([
  [String.raw`so \boxed{\frac{1}{2}}.`, String.raw`\frac{1}{2}`],
  [String.raw`\fbox{7} and <answer>8</answer>`, "7"],
  ["first <answer>1</answer> then <answer> 8 </answer>", "8"],
  ["adding up\n#### 1,234", "1,234"],
  ["The final answer is **42**.", "42"],
  ["Answer: $x = 3.5$.", "$x = 3.5$"],
  ["the answer is 3.5. Or so", "3.5"],
  [String.raw`<think>\boxed{1}</think> it is 2`, null],
  [String.raw`<think>\boxed{1}`, null],
  ["I believe it is 42", null],
])("the final answer of %j is %j", (text, answer) => {
  expect(finalAnswer(text)).toBe(answer);
});

test("only the final answer counts, and each of several right ones", async () => {
  const texts = [String.raw`42? No: \boxed{41}`, "#### 7", "it is 42, surely", String.raw`\boxed{6}`];
  const results = await built.mathReward(texts, [42, [6, 7], 42, ["5", 6n]]);
  expect(results.map(({ reward, reason }) => [reward, reason])).toEqual([
    [0, "different"],
    [1, "equal"],
    [0, "no answer"],
    [1, "equal"],
  ]);
  await expect(built.mathReward(["1"], [])).rejects.toMatchObject({ code: "ERR_SURPRISAL_SHAPE" });
  await expect(built.mathReward(["#### 1"], [1], { signal: AbortSignal.abort(new Error("enough")) })).rejects.toThrow(
    "enough",
  );
});
