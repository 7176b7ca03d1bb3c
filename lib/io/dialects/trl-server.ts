// What TRL's vLLM server answers: the ids of P prompts and of P·n completions, prompt after prompt; log-probs [completion][token][k]
// with the ids they belong to, likeliest first, the sampled token among them.
import { idOf, idsOf, type JsonObject, listOf, numberOf, sameLength } from "../fields";
import { malformed, type Place } from "../place";
import type { Rollout, TopK } from "../record";
import type { DialectReader } from "./dialect";
import { promptGroup } from "./prompt-group";
import { topKOf } from "./top-k";

interface Scored {
  readonly logProbs: Float64Array;
  readonly topK: TopK | undefined;
}

/** The server puts null where the log-prob was NaN. */
const logProbOf = (at: Place, field: string, value: unknown): number =>
  value === null ? NaN : numberOf(at, field, value);

/** Log-probs of one completion: one per token, or k per token with their ids. */
function scored(at: Place, tokenIds: Int32Array, name: string, value: unknown, idsName: string, ids: unknown): Scored {
  const rows = listOf(at, name, value);
  sameLength(at, name, rows.length, tokenIds.length, "completion_ids");
  if (ids == null) {
    // Before there were several per token: a number each, or lists of one.
    const first = (t: number): unknown =>
      Array.isArray(rows[t]) && rows[t].length === 1 ? (rows[t] as unknown[])[0] : rows[t];
    return {
      logProbs: Float64Array.from(tokenIds, (_, t) => logProbOf(at, `${name}[${t}]`, first(t))),
      topK: undefined,
    };
  }
  const idRows = listOf(at, idsName, ids);
  sameLength(at, idsName, idRows.length, tokenIds.length, "completion_ids");
  const lists = Array.from(tokenIds, (_, t) => {
    const row = listOf(at, `${name}[${t}]`, rows[t]);
    const idRow = listOf(at, `${idsName}[${t}]`, idRows[t]);
    sameLength(at, `${idsName}[${t}]`, idRow.length, row.length, `${name}[${t}]`);
    return Array.from({ length: row.length }, (_, k) => ({
      logProb: logProbOf(at, `${name}[${t}][${k}]`, row[k]),
      id: idOf(at, `${idsName}[${t}][${k}]`, idRow[k]),
    }));
  });
  const logProbs = Float64Array.from(tokenIds, (id, t) => {
    const own = lists[t]!.find((alternative) => alternative.id === id);
    if (!own) throw malformed(at, `${idsName}[${t}]`, idRows[t], `a list with the sampled token ${id}`);
    return own.logProb;
  });
  return { logProbs, topK: lists.every((list) => list.length === 1) ? undefined : topKOf(lists) };
}

function read(at: Place, record: JsonObject): Rollout[] {
  const prompts = listOf(at, "prompt_ids", record["prompt_ids"]);
  const completions = listOf(at, "completion_ids", record["completion_ids"]);
  const each = completions.length / prompts.length;
  if (!Number.isInteger(each) && completions.length > 0)
    throw malformed(
      at,
      "completion_ids.length",
      completions.length,
      `a multiple of ${prompts.length}, the number of prompts`,
    );
  const promptIds = Array.from({ length: prompts.length }, (_, p) => idsOf(at, `prompt_ids[${p}]`, prompts[p]));
  const logProbs = record["logprobs"] == null ? undefined : listOf(at, "logprobs", record["logprobs"]);
  const ids =
    record["logprob_token_ids"] == null ? undefined : listOf(at, "logprob_token_ids", record["logprob_token_ids"]);
  sameLength(at, "logprobs", logProbs?.length, completions.length, "completion_ids");
  sameLength(at, "logprob_token_ids", ids?.length, completions.length, "completion_ids");
  return Array.from({ length: completions.length }, (_, i) => {
    const tokenIds = idsOf(at, `completion_ids[${i}]`, completions[i]);
    const prompt = promptIds[Math.floor(i / each)]!;
    const scores = logProbs && scored(at, tokenIds, `logprobs[${i}]`, logProbs[i], `logprob_token_ids[${i}]`, ids?.[i]);
    return {
      group: promptGroup(prompt),
      promptIds: prompt,
      tokenIds,
      samplerLogProbs: scores?.logProbs,
      topK: scores?.topK,
    };
  });
}

export const trlServer: DialectReader = {
  name: "trl-server",
  matches: (record) => Array.isArray(record["prompt_ids"]) && Array.isArray(record["completion_ids"]),
  read,
};
