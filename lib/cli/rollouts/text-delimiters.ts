// A delimiter as text, "<step>": the ids of the tokens that spell it where rollouts have both the texts of their tokens and the ids.
import type { Delimiter } from "../../advantage/estimator";
import { SurprisalError } from "../../core/errors";
import type { Rollout } from "../../io";
import { flagOf } from "../tables/option-flags";

const DELIMITERS: readonly Delimiter[] = ["start", "end", "head", "thinkStart", "thinkEnd"];

/** For each place of `text` in the tokens' text, the ids of the tokens that it touches. */
function spellingsIn({ tokens = [], tokenIds = new Int32Array(0) }: Rollout, text: string): number[][] {
  const whole = tokens.join("");
  const found: number[][] = [];
  let [token, begin] = [0, 0]; // of the token that holds the place
  for (let at = whole.indexOf(text); at >= 0; at = whole.indexOf(text, at + text.length)) {
    while (begin + tokens[token]!.length <= at) begin += tokens[token++]!.length;
    let [last, end] = [token, begin + tokens[token]!.length];
    while (end < at + text.length) end += tokens[++last]!.length;
    found.push(Array.from(tokenIds.subarray(token, last + 1)));
  }
  return found;
}

/** Every way in which the rollouts spell a text, by first appearance. */
function spellings(rollouts: readonly Rollout[], text: string): number[][] {
  const found = new Map<string, number[]>();
  for (const rollout of rollouts) for (const ids of spellingsIn(rollout, text)) found.set(ids.join(" "), ids);
  return Array.from(found.values());
}

/**
 * The options with the texts among their delimiters as token ids.
 *
 * @param source where the rollouts are from, for messages
 * @throws SurprisalError ERR_SURPRISAL_OPTION where rollouts have no texts of tokens, or none spells the delimiter
 */
export function withTextDelimiters<Options extends Readonly<Record<string, unknown>>>(
  options: Options,
  rollouts: readonly Rollout[],
  source: string,
): Options {
  const result: Record<string, unknown> = { ...options };
  for (const name of DELIMITERS) {
    const text = options[name];
    if (typeof text !== "string") continue;
    const refuse = (why: string): SurprisalError =>
      new SurprisalError(
        "ERR_SURPRISAL_OPTION",
        `${source}: --${flagOf(name)} is the text ${JSON.stringify(text)}, ${why}; token ids do without texts: --${flagOf(name)} '[[ID,…],…]'`,
        { name: `--${flagOf(name)}`, got: text },
      );
    if (text === "" || !rollouts.some(({ tokens, tokenIds }) => tokens && tokenIds))
      throw refuse("and no rollout has the texts of its tokens (tokens) beside their ids (token_ids)");
    const ids = spellings(rollouts, text);
    if (ids.length === 0) throw refuse("which no rollout has in its tokens");
    const [only] = ids;
    const oneToken = name.startsWith("think") && ids.length === 1 && only!.length === 1;
    result[name] = oneToken ? only![0] : ids;
  }
  return result as Options;
}
