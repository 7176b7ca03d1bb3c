// Rewards of a response's outer form.
import type { RewardResult } from "./reward-function";

export interface FormatRewardOptions {
  /** The parts that a response has to consist of, in order, each between its tags. Default: think, answer. */
  readonly parts?: readonly string[];
  /** Where true, the first opening tag may be missing, because the prompt ends with it. Default false. */
  readonly opened?: boolean;
}

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);

/**
 * 1 for each completion that consists of the parts, once each, in order, with nothing but blanks around them, else 0:
 *
 *     <think>…</think> <answer>…</answer>
 *
 * @returns `reason` is `"well formed"`, or the tag that is missing or there twice
 */
export function formatReward(completions: readonly string[], options: FormatRewardOptions = {}): RewardResult[] {
  const parts = options.parts ?? ["think", "answer"];
  const tags = parts.flatMap((part, i) =>
    i === 0 && options.opened === true ? [`</${part}>`] : [`<${part}>`, `</${part}>`],
  );
  const form = new RegExp(
    `^\\s*${parts.map((part, i) => `${i === 0 && options.opened === true ? `(?:<${escaped(part)}>)?` : `<${escaped(part)}>`}[\\s\\S]*</${escaped(part)}>`).join("\\s*")}\\s*$`,
  );
  return completions.map((completion) => {
    const wrong = tags.find((tag) => completion.split(tag).length !== 2);
    if (wrong !== undefined)
      return { reward: 0, reason: completion.includes(wrong) ? `${wrong} twice` : `no ${wrong}` };
    return form.test(completion)
      ? { reward: 1, reason: "well formed" }
      : { reward: 0, reason: "text around the parts" };
  });
}
