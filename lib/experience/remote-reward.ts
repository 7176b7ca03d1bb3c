// Rewards from a server.
import { optionError, show } from "../core/errors";
import { needNumber } from "../core/option-checks";
import type { RewardFunction, RewardRow } from "./adapters";
import { pieces, runBounded } from "./bounded";
import { type AddressOptions, badAnswer, type RequestOptions, requestsAmong } from "./request";

export interface RemoteRewardOptions<Data = unknown> extends RequestOptions, AddressOptions {
  /** Rows of one request. Default 64. */
  readonly batchSize?: number;
  /** Requests under way at a time. Default 4. */
  readonly concurrency?: number;
  /**
   * The request's body. Default: `{ query, prompts, labels }`, the texts of prompt and response together, of the prompt, and its
   * `answer`: what OpenRLHF's and LightRFT's reward servers take.
   */
  readonly body?: (rows: readonly RewardRow<Data>[]) => unknown;
  /** The rewards in an answer, one per row of the request. Default: its `rewards`, or the answer itself where that is a list. */
  readonly read?: (answer: unknown, rows: readonly RewardRow<Data>[]) => ArrayLike<number | null>;
}

function defaultBody<Data>(rows: readonly RewardRow<Data>[]): unknown {
  return {
    query: rows.map(({ prompt = "", completion }) => prompt + completion),
    prompts: rows.map(({ prompt = "" }) => prompt),
    labels: rows.map(({ answer = null }) => answer),
  };
}

function defaultRead(answer: unknown): ArrayLike<number | null> {
  const list: unknown = Array.isArray(answer) ? answer : (answer as { rewards?: unknown } | null)?.rewards;
  if (!Array.isArray(list)) throw badAnswer('the answer has no list "rewards"');
  return list as (number | null)[];
}

/** Rewards as a server may send them; anything but finite numbers and null makes the request fail. */
function checked(rewards: ArrayLike<unknown>, count: number): readonly (number | null)[] {
  if (rewards.length !== count) throw badAnswer(`${rewards.length} rewards for ${count} rows`);
  return Array.from(rewards, (reward, i) => {
    if (reward !== null && !(typeof reward === "number" && Number.isFinite(reward)))
      throw badAnswer(`rewards[${i}] is ${show(reward)}, expected a number`);
    return reward;
  });
}

/**
 * A reward function that asks a server, in batches, and asks again where that can help. A reward that could not be had is an error;
 * it never counts as 0. `deadline` is for a call of the function, whatever its batches and retries. Each request carries an
 * `idempotency-key`, the same in all of its attempts: a server that knows it, as `surprisal reward --serve`, judges once.
 *
 * @param url one address, or several servers that do the same: a request that fails goes to another one, and a server that fails
 * `failures` times in a row rests
 * @throws (the function) SurprisalError ERR_SURPRISAL_REMOTE when the retries or the time are used up, an answer is too
 * large, or a redirect leads to another origin; the signal's reason
 */
export function remoteReward<Data = unknown>(
  url: string | readonly string[],
  options: RemoteRewardOptions<Data> = {},
): RewardFunction<Data> {
  const op = "remoteReward";
  const { body = defaultBody, read = defaultRead, concurrency = 4, failures, rest, ...request } = options;
  const batchSize = needNumber(op, "batchSize", options.batchSize ?? 64, { min: 1, integer: true });
  const urls = typeof url === "string" ? [url] : url;
  if (urls.length === 0) throw optionError(op, "url", urls, "an address, or a list with one at least");
  const requests = requestsAmong(op, urls, request, { failures, rest }, true);
  return async (rows, { signal }) => {
    const deadline = requests.begin();
    const tasks = pieces(rows.length, batchSize).map(({ begin, end }) => (own: AbortSignal) => {
      const batch = rows.slice(begin, end);
      return requests.post(body(batch), (answer) => checked(read(answer, batch), batch.length), own, deadline);
    });
    return (await runBounded(op, tasks, concurrency, signal)).flat();
  };
}
