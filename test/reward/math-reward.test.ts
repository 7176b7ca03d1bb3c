// Answers found and compared by value.
import * as fc from "fast-check";
import { finalAnswer } from "../../lib/reward";
import { readRational } from "../../lib/reward/math/rational";
import { built } from "../support/built-reward";

const EQUAL: readonly (readonly [string, string])[] = [
  [String.raw`\frac{1}{2}`, "0.5"],
  ["1/2", String.raw`\dfrac12`],
  [String.raw`50\%`, "0.5"],
  ["1,234", "1234"],
  [String.raw`1\frac{1}{2}`, "1.5"],
  [String.raw`3\times 10^{5}`, "300000"],
  ["1e5", "100000"],
  ["-0.75", String.raw`-\frac{3}{4}`],
  [String.raw`\$5.00`, "5"],
  [String.raw`5\text{ cm}`, "5"],
  [String.raw`45^\circ`, "45"],
  [String.raw`\text{(A)}`, "A"],
  ["Yes", "yes"],
  ["x=5", "5"],
  ["[0,1)", "[0, 1)"],
  ["(1,2)", "(1.0, 2)"],
  [String.raw`\{1,2\}`, String.raw`\{2, 1\}`],
  ["1, 2", "2 and 1"],
  ["x=1 or x=2", String.raw`\{1,2\}`],
  [String.raw`\pm 2`, "2,-2"],
  [String.raw`(-\infty, 2] \cup (3,4)`, String.raw`(3,4)\cup(-\infty,2]`],
  [String.raw`\emptyset`, String.raw`\{\}`],
  [String.raw`x \in [1,2]`, "[1,2]"],
  [String.raw`\begin{pmatrix}1&2\\3&4\end{pmatrix}`, String.raw`\begin{bmatrix}1&2\\3&\frac{8}{2}\end{bmatrix}`],
  ["[[1,2],[3,4]]", String.raw`\begin{pmatrix}1&2\\3&4\end{pmatrix}`],
  [String.raw`\sqrt{8}`, String.raw`2\sqrt{2}`],
  ["sqrt(8)", "2*sqrt(2)"],
  ["x^2+2x+1", "(x+1)^2"],
  [String.raw`\sin^2 x+\cos^2 x`, "1"],
  [String.raw`$\pi/2$`, String.raw`\frac{\pi}{2}`],
  ["tan(x)", String.raw`\frac{\sin x}{\cos x}`],
  ["n(n+1)/2", String.raw`\frac{n^2+n}{2}`],
  ["2x+y=3", "y=3-2x"],
  [String.raw`\log_2 8`, "3"],
  [String.raw`\binom{5}{2}`, "10"],
  [String.raw`e^{i\pi}`, "-1"],
  ["x**10", "x^{10}"],
  [String.raw`1 \pm \sqrt{2}`, String.raw`1-\sqrt2, 1+\sqrt2`],
];

const DIFFERENT: readonly (readonly [string, string])[] = [
  ["142", "42"],
  ["42", "142"],
  ["(0,1)", "[0,1]"],
  ["(0,1)", "(1,0)"],
  ["x+1", "x+2"],
  ["0.3333", "1/3"],
  [String.raw`\{1,2\}`, String.raw`\{1,3\}`],
  ["1", String.raw`\{1,2\}`],
  ["", ""],
  ["5", "-5"],
  ["no", "yes"],
  ["A", "B"],
  ["|x|", "x"],
  ["x=1,y=2", "x=2,y=1"],
  [String.raw`\pi`, "3.14"],
  ["sqrt(2)", "sqrt(3)"],
  [String.raw`2^{10^{10^{10}}}`, "3"],
  ["def f(): pass", "1"],
  ["5m", "5"],
  [String.raw`\begin{pmatrix}1&2\end{pmatrix}`, String.raw`\begin{pmatrix}2&1\end{pmatrix}`],
];

const options = { timeLimit: 20_000 };

test.each(EQUAL)(
  "%s is %s",
  async (answer, wanted) => {
    expect(await built.mathEqual(answer, wanted, options)).toBe(true);
  },
  60_000,
);

test.each(DIFFERENT)(
  "%s is not %s",
  async (answer, wanted) => {
    expect(await built.mathEqual(answer, wanted, options)).toBe(false);
  },
  60_000,
);

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
}, 60_000);

test("fractions are read exactly", () => {
  fc.assert(
    fc.property(fc.integer({ min: -1e6, max: 1e6 }), fc.integer({ min: 1, max: 1e6 }), (n, d) => {
      const plain = readRational(`${n}/${d}`)!;
      const latex = readRational(n < 0 ? `-\\frac{${-n}}{${d}}` : `\\frac{${n}}{${d}}`)!;
      expect(plain).toEqual(latex);
      expect(plain.n * BigInt(d)).toBe(BigInt(n) * plain.d);
    }),
  );
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
