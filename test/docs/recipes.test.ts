// The numbers of docs/recipes.md: of a recorded case where a trainer is the source, else of the formula, evaluated here.
// test/docs/examples.test.ts holds the programs to the same numbers.
import { readFileSync } from "node:fs";
import { join } from "node:path";

interface Recipe {
  readonly program: string;
  /** The numbers behind each console.log(...). */
  readonly prints: readonly string[];
}

const text = readFileSync(join(__dirname, "..", "..", "docs", "recipes.md"), "utf8");
const recipes = new Map(
  text
    .split(/^## /m)
    .slice(1)
    .map((section): [string, Recipe] => {
      const program = /^```js\n([\s\S]*?)^```/m.exec(section)![1]!;
      const prints = [...program.matchAll(/console\.log\(.*\);\s*\/\/ (.*)$/gm)].map(([, comment]) => comment!.trim());
      return [section.split("\n")[0]!, { program, prints }];
    }),
);

/** Recipe → the recorded function; its rows are in another order where that is said. */
const RECORDED: Readonly<Record<string, readonly [path: string, order?: "sorted"]>> = {
  MaxRL: ["prime-rl/max_rl"],
  "GRPO against the others": ["nemo-rl/GRPOAdvantageEstimator"],
  "GDPO over rows": ["nemo-rl/GDPOAdvantageEstimator"],
  "RAE: a running baseline per role": ["prime-rl/role_advantage"],
  "Hierarchical GRPO": ["prime-rl/hierarchical_grpo"],
  "GRPO with a length penalty": ["prime-rl/grpo_length_penalty"],
  GiGPO: ["roll/gigpo_response_level_rewards", "sorted"],
  "Sessions with several outputs": ["verl-2026-08/compute_advantage_for_multi_trajectories"],
  "GAE turn by turn": ["areal/compute_turn_level_gae"],
  "VAPO: λ by the length of the row": ["areal/gae_lambda_functions"],
  "Several episodes in a row": ["open-instruct/calculate_advantages_packed"],
  "A proximal policy from versions": ["areal/compute_prox_logp_approximations"],
  "On-policy distillation as an advantage": ["nemo-rl/OPDAdvantageEstimator"],
  "A mean per run of tokens": ["roll/compute_segment_masked_mean"],
  TOPR: ["roll/pg_variant_loss"],
  "Kimi k1.5": ["roll/pg_variant_loss"],
  DRO: ["verl-2026-08/compute_policy_loss_dro"],
  "DPPO with a bound of total variation": ["verl-2026-08/compute_policy_loss_dppo_tv"],
  "DPPO with a bound of KL": ["verl-2026-08/compute_policy_loss_dppo_kl"],
  "A ratio per segment": ["roll/agentic_actor_loss"],
};

/** Every list of numbers in a recorded output; of advantages per token those of the rows, too. */
function listsOf(value: unknown): number[][] {
  if (typeof value === "number") return [[value]];
  if (Array.isArray(value)) return value.every((x) => typeof x === "number") ? [value] : value.flatMap(listsOf);
  if (typeof value !== "object" || value === null) return [];
  const { data, shape } = value as { readonly data?: number[]; readonly shape?: readonly number[] };
  if (data === undefined) return Object.values(value).flatMap(listsOf);
  const T = shape?.[1];
  if (T === undefined) return listsOf(data);
  const rows = Array.from({ length: shape![0]! }, (_, b) => data.slice(b * T, (b + 1) * T).find((x) => x !== 0) ?? 0);
  return [...listsOf(data), rows];
}

test.each(Object.entries(RECORDED))("%s: a recorded case has its numbers", (title, [path, order]) => {
  const golden = JSON.parse(readFileSync(join(__dirname, "..", "golden", `${path}.json`), "utf8")) as {
    readonly cases: readonly { readonly name: string; readonly outputs?: unknown }[];
  };
  const [print] = recipes.get(title)!.prints.filter((line) => /^[-0-9. ]+$/.test(line)).slice(-1);
  const ordered = (list: readonly number[]): readonly number[] =>
    order === "sorted" ? [...list].sort((a, b) => a - b) : list;
  const want = ordered(print!.split(" ").map(Number));
  const close = (list: readonly number[]): boolean =>
    list.length >= want.length && ordered(list).every((x, i) => i >= want.length || Math.abs(want[i]! - x) <= 1e-3);
  expect(golden.cases.filter(({ outputs }) => listsOf(outputs).some(close)).length).toBeGreaterThan(0);
});

/** A constant of a recipe's program. */
function numbersOf(title: string, name: string): number[] {
  const list = new RegExp(`const ${name} = (?:[A-Za-z0-9]+\\.of\\(|\\[)([^\\])]*)`).exec(recipes.get(title)!.program)!;
  return list[1]!.split(",").map(Number);
}

const means = (x: readonly number[], rows: number): number[] =>
  Array.from({ length: rows }, (_, b) => {
    const row = x.slice((b * x.length) / rows, ((b + 1) * x.length) / rows);
    return row.reduce((sum, y) => sum + y, 0) / row.length;
  });
const less = (a: readonly number[], b: readonly number[]): number[] => a.map((x, i) => x - b[i]!);
const between = (x: number, low: number, high: number): number => Math.min(Math.max(x, low), high);

/** Central differences of a loss of log-probs. */
function slopes(loss: (x: readonly number[]) => number, at: readonly number[]): number[] {
  const h = 1e-6;
  return at.map((_, i) => {
    const moved = (by: number) => loss(at.map((x, j) => (i === j ? x + by : x)));
    return (moved(h) - moved(-h)) / (2 * h);
  });
}

const printed = (title: string, k: number): number[] => recipes.get(title)!.prints[k]!.split(" ").map(Number);
const CLOSE = { atol: 6e-5 };

test("FlowRL", () => {
  const [l = [], o = [], q = [], r = [], z = []] = ["logProbs", "oldLogProbs", "referenceLogProbs", "rewards", "logZ"].map((name) =>
    numbersOf("FlowRL", name),
  );
  const weights = means(less(l, o), 2).map((mean) => between(Math.exp(3 * mean), 0.8, 1.2));
  const loss = (x: readonly number[]) =>
    means(less(x, q), 2).reduce((sum, mean, b) => sum + (weights[b]! * (z[b]! + mean - 15 * r[b]!) ** 2) / 2, 0);
  expect([loss(l)]).toBeAllClose(printed("FlowRL", 0), CLOSE);
  expect(slopes(loss, l)).toBeAllClose(printed("FlowRL", 1), CLOSE);
});

test("REAL", () => {
  const title = "REAL: rewards as labels";
  const [l = [], o = [], labels = []] = ["logProbs", "oldLogProbs", "labels"].map((name) => numbersOf(title, name));
  const loss = (x: readonly number[]) => {
    const s = means(less(x, o), 3);
    const sum = (label: number) =>
      s.reduce((all, mean, b) => (labels[b] === label ? all + Math.exp((-label * mean) / 0.5) : all), 0);
    return Math.log(1 + sum(1)) + Math.log(1 + sum(-1));
  };
  expect([loss(l)]).toBeAllClose(printed(title, 0), CLOSE);
  expect(slopes(loss, l)).toBeAllClose(printed(title, 1), CLOSE);
});

test("FIPO", () => {
  const title = "FIPO: advantages by the future";
  const [l = [], o = []] = ["logProbs", "oldLogProbs"].map((name) => numbersOf(title, name));
  const A = l.map((_, t) => {
    const future = less(l, o).reduce((sum, gap, i) => (i >= t ? sum + 0.5 ** (i - t) * gap : sum), 0);
    return 0.6 * between(Math.exp(future), 0.8, 1.2);
  });
  const loss = (x: readonly number[]) =>
    less(x, o).reduce((sum, gap, t) => {
      const r = Math.exp(gap);
      return sum + Math.max(-A[t]! * r, -A[t]! * between(r, 0.8, 1.2)) / l.length;
    }, 0);
  expect(A).toBeAllClose(printed(title, 0), CLOSE);
  expect([loss(l)]).toBeAllClose(printed(title, 1), CLOSE);
  // The fourth token's ratio is above the band, the last one's below with A > 0.
  expect(slopes(loss, l)).toBeAllClose(printed(title, 2), CLOSE);
});

test("SimKO", () => {
  const title = "SimKO: a reward for the runners-up";
  const logits = numbersOf(title, "logits");
  const logProb = (x: readonly number[], i: number, id: number): number => {
    const row = x.slice(4 * i, 4 * i + 4);
    return row[id]! - Math.log(row.reduce((sum, z) => sum + Math.exp(z), 0));
  };
  // Row 0: id 1 at A = 0.5, of whose two best are 0 and 1. Row 1: id 1, the best one, at A = -0.5.
  const loss = (x: readonly number[]) =>
    -0.5 * (0.8 * logProb(x, 0, 1) + 0.1 * (logProb(x, 0, 0) + logProb(x, 0, 1))) + 0.5 * 1.1 * logProb(x, 1, 1);
  expect(slopes(loss, logits)).toBeAllClose(printed(title, 0), CLOSE);
});

test("TreePO", () => {
  const title = "TreePO: the advantage of a branch";
  const r = numbersOf(title, "rewards");
  const advantages = r.map((own, b) => {
    const nodes = [8, 4, 2].map((width) => r.slice(Math.floor(b / width) * width, (Math.floor(b / width) + 1) * width));
    return nodes.reduce((sum, leaves) => sum + (own - means(leaves, 1)[0]!) / 3, 0);
  });
  expect(advantages).toBeAllClose(printed(title, 0), CLOSE);
});

test("widths per token", () => {
  const title = "Clip widths per token";
  const [l = [], o = [], A = [], low = [], high = []] = ["logProbs", "oldLogProbs", "advantages", "low", "high"].map(
    (name) => numbersOf(title, name),
  );
  const loss = (x: readonly number[]) =>
    less(x, o).reduce((sum, gap, t) => {
      const [r, a] = [Math.exp(gap), A[t]!];
      const clipped = Math.max(-a * r, -a * between(r, 1 - low[t]!, 1 + high[t]!));
      return sum + (a < 0 ? Math.min(clipped, -2 * a) : clipped) / l.length;
    }, 0);
  expect(slopes(loss, l)).toBeAllClose(printed(title, 0), CLOSE);
});

test("MiniLLM", () => {
  const title = "MiniLLM with the gradient of its advantages";
  const [teacher = [], l = []] = ["teacherLogProbs", "studentLogProbs"].map((name) => numbersOf(title, name));
  const loss = (x: readonly number[]) =>
    x.reduce((sum, _, t) => {
      const A = less(teacher, x).reduce((rest, reward, i) => (i >= t ? rest + 0.9 ** i * reward : rest), 0);
      return sum - (A * Math.exp(x[t]! - l[t]!)) / 4;
    }, 0);
  expect(slopes(loss, l)).toBeAllClose(printed(title, 1), CLOSE);
});

test("λ-GRPO", () => {
  const title = "λ-GRPO: a learnt preference for length";
  const [rewards = [], offsets = []] = ["rewards", "offsets"].map((name) => numbersOf(title, name));
  const spread = (x: readonly number[]): number =>
    Math.sqrt(x.reduce((sum, y) => sum + (y - means(x, 1)[0]!) ** 2, 0) / (x.length - 1));
  const scaled = (x: readonly number[]): number[] => x.map((y) => (y - means(x, 1)[0]!) / (spread(x) + 1e-6));
  const powers = scaled(less(offsets.slice(1), offsets)).map((z) => Math.exp((1 + 0.2 * z) ** 2));
  const total = powers.reduce((sum, power) => sum + power, 0);
  const advantages = scaled(rewards).map((a, b) => (a * 4 * powers[b]!) / total);
  for (const k of [0, 1]) expect(advantages).toBeAllClose(printed(title, k), CLOSE);
});

test("every recipe is held by one of these", () => {
  const formulas = ["λ-GRPO", "FlowRL", "REAL", "FIPO", "SimKO", "TreePO", "MiniLLM", "Clip widths"];
  const held = [...recipes.keys()].filter((title) => title in RECORDED || formulas.some((f) => title.startsWith(f)));
  expect(held).toEqual([...recipes.keys()]);
});
