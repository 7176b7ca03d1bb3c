// The installed package, used wrongly as people do: no call gives numbers without a word, and each refusal says what to do.
import { type Consumer, installTarball } from "./consumer";
import { type Outcome, runSnippets } from "./snippets";

const BEFORE = `
const { gae, grpoAdvantage, groupNormalize, logprob, policyLoss, empgAdvantage, computeAdvantages, advantagePipeline, shapeGroupRewards, findSpans, configure } = surprisal;
const x = Float32Array.of(-1, -2);
const rows = { shape: [1, 2] };
const batch = { ...rows, logProbs: x, oldLogProbs: x, advantages: x };
const rewards = Float32Array.of(1, 0, 1, 1);
const groups = [0, 0, 1, 1];
`;

/** What is typed, and what the refusal must say. */
const REFUSED: readonly (readonly [snippet: string, message: RegExp])[] = [
  [`grpoAdvantage({ rewards, groups }, { groupSize: 2 })`, /^grpoAdvantage: options has "groupSize"/],
  [`grpoAdvantage({ rewards: [1, 0, 1, 1], groups }, { groupSize: 2 })`, /^grpoAdvantage: options has "groupSize"/],
  [`logprob(x, [1], { shape: [1, 2], masks: [1] })`, /^logprob: options has "masks".*did you mean "mask"\?/],
  [
    `policyLoss("ppo", { ...batch, oldLogprobs: x }, { clip: 0.2 })`,
    /^policyLoss: batch has "oldLogprobs".*did you mean "oldLogProbs"\?/,
  ],
  [
    `policyLoss("ppo", batch, { clip: 0.2, entropybonus: { coefficient: 1 } })`,
    /"entropybonus".*did you mean "entropyBonus"\?/,
  ],
  [`policyLoss("ppo", batch, {})`, /^ppoLoss: .*clip/],
  [`empgAdvantage({}, { zetta: 0.1 })`, /^empgAdvantage: options has "zetta".*did you mean "zeta"\?/],
  [`gae([1], [1], { shape: [1, 1], gamma: 1, lambda: 1, frm: 2 })`, /^gae: options has "frm"/],
  [
    `advantagePipeline([{ shape: [4, 1], rewards, rewrds: rewards }], { estimator: "grpo", groups })`,
    /batches\[0\] has "rewrds".*"rewards"/,
  ],
  [`computeAdvantages("grpp", { rewards, groups })`, /"grpp"/],
  [`computeAdvantages("grpo", { rewards })`, /groups is undefined.*groups: "all"/],
  [`grpoAdvantage({ rewards: [1, 0, 1, 1] })`, /groups is undefined.*groups: "all"/],
  [`shapeGroupRewards(rewards, { estimator: "rloo" })`, /groups is undefined.*groups: "all"/],
  [`groupNormalize(new Uint32Array(2), { groups: "all" })`, /values is Uint32Array, expected a Float32Array/],
  [`groupNormalize(new BigInt64Array(2), { groups: "all" })`, /values is BigInt64Array, expected a Float32Array/],
  [`logprob([[1, 2]], "text")`, /targets is "text", expected .*Uint32Array.*BigInt64Array/],
  [`findSpans([[1, 2]], { start: "<step>", end: [2] })`, /start is "<step>", expected token ids; delimiterVariants/],
  [`gae()`, /^gae: /],
  [`policyLoss("ppo")`, /^policyLoss: batch is undefined/],
  [`configure({ bakend: "js" })`, /"bakend".*did you mean "backend"\?/],
  [
    `gae(x, x, { ...rows, gamma: 1, lambda: 1, backend: "gpu" })`,
    /backend is "gpu".*a list of names in order of preference/,
  ],
  [`gae(x, x, { ...rows, gamma: 1, lambda: 1, backend: [] })`, /backend is \[\]/],
  [`surprisal.groupTop2(Float32Array.of(1, NaN), { groups: "all" })`, /^groupTop2: values\[1\] is NaN/],
  [`surprisal.covarianceMask(Float32Array.of(-1, -Infinity), x, { ...rows, k: 1 })`, /logProbs\[1\] is -Infinity/],
];

/** What is typed, and what it gives. */
const TAKEN: readonly (readonly [snippet: string, value: unknown])[] = [
  [`logprob([[1, 2], [3, 2]], new Uint32Array([0, 1])).logProbs.length`, 2],
  [`logprob([[1, 2], [3, 2]], new BigInt64Array([0n, 1n])).logProbs.constructor.name`, "Float32Array"],
  [`gae([[0, 0, 1], [0, 1]], [[0, 0, 0], [0, 0]], { gamma: 1, lambda: 1 })`, { offsets: [0, 3, 5], advantages: [1, 1, 1, 1, 1], returns: [1, 1, 1, 1, 1] }], // oxfmt-ignore
  [`gae([1], [0], { shape: [1, 1], gamma: 1, lambda: 1 }).advantages.constructor.name`, "Float64Array"],
  [`gae(Float32Array.of(1), [0], { shape: [1, 1], gamma: 1, lambda: 1 }).advantages.constructor.name`, "Float32Array"],
  [`groupNormalize({ data: Float32Array.of(1, 3), dims: [2], type: "float32" }, { groups: "all" }).means`, [2]],
  [`gae(x, x, { ...rows, gamma: 0, lambda: 0, backend: ["cuda", "js"] }).returns`, [-1, -2]],
  [`computeAdvantages("grpo", { rewards: [1, 0], groups: "all" }).rowAdvantages.map(Math.sign)`, [1, -1]],
  [`computeAdvantages("grpo", { ...batch, ...rows, rewards: [3], groups: "all", mask: [1, 0] }).advantages`, [0, 0]],
  [
    `io.readAllRollouts(Buffer.from('{"token_ids":[1,2],"sampler_logprobs":[-0.5,-9999],"reward":1}')).then(({ rollouts, report }) => [rollouts[0].samplerLogProbs, report.minusInfinities])`,
    [[-0.5, "-Infinity"], 1],
  ],
];

/** What the methods are when nothing is said of how. */
const PUBLISHED: readonly (readonly [snippet: string, value: unknown])[] = [
  // H = 1 and 3 of a mean of 2: both weights are 2 / H, also that of the sure wrong row.
  [
    `computeAdvantages("egpo", { shape: [2, 1], rewards: [0, 1], groups: "all", entropies: Float64Array.of(1, 3) }, { mode: "joint" }).advantages.map((a) => +a.toFixed(3))`,
    [-1.414, 0.471],
  ],
  [
    `Object.keys(computeAdvantages("egpo", { shape: [2, 1], rewards: [1, 0], groups: "all", entropies: Float64Array.of(1, 3) }, { mode: "joint" }).metrics).filter((name) => name === "actor/entropy")`,
    ["actor/entropy"],
  ],
  [
    `computeAdvantages("maxent", { shape: [2, 1], rewards: [1, 0], groups: "all" }).rowAdvantages.map((a) => +a.toFixed(4))`,
    [0.2311, -0.2311],
  ],
  [`Object.keys(computeAdvantages("maxent", { shape: [2, 1], rewards: [1, 0], groups: "all" }).metrics).filter((name) => /^controller_/.test(name)).sort()`, ["controller_beta", "controller_tau"]], // oxfmt-ignore
];

const ALLOWED = [...TAKEN, ...PUBLISHED];
let consumer: Consumer;
let outcomes: Map<string, Outcome>;

beforeAll(() => {
  consumer = installTarball();
  const snippets = [...REFUSED, ...ALLOWED].map(([snippet]) => snippet);
  const got = runSnippets(consumer, BEFORE, snippets);
  outcomes = new Map(snippets.map((snippet, i) => [snippet, got[i]!]));
});
afterAll(() => {
  consumer.remove();
});

test.each(REFUSED)("%s is refused", (snippet, message) => {
  expect(outcomes.get(snippet)).toEqual({
    code: expect.stringMatching(/^ERR_SURPRISAL_/) as string,
    message: expect.stringMatching(message) as string,
  });
});

test.each(ALLOWED)("%s gives its numbers", (snippet, value) => {
  expect(outcomes.get(snippet)).toEqual({ value });
});
