// What is posted to be judged: the spelling of remoteReward, which is that of OpenRLHF's and LightRFT's reward servers, or completions.
import type { IncomingMessage } from "node:http";
import type { RewardInput } from "../../reward";

/** The request is at fault; the message goes back. */
export class BadRequest extends Error {
  constructor(
    message: string,
    readonly status = 400,
  ) {
    super(message);
  }
}

/** The text of a request, at most so many bytes. */
export async function textOf(request: IncomingMessage, limit: number): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > limit) throw new BadRequest(`the request has more than ${limit} bytes`, 413);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString("utf8");
}

type Body = Readonly<Record<string, unknown>>;

function parsed(text: string): Body {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (error) {
    throw new BadRequest(`the request is no JSON: ${(error as Error).message}`);
  }
  if (typeof body !== "object" || body === null || Array.isArray(body))
    throw new BadRequest("the request is no object");
  return body as Body;
}

/** A list of the request, or undefined where it has none. */
function listOf(body: Body, name: string, count?: number): readonly unknown[] | undefined {
  const list = body[name];
  if (list === undefined || list === null) return undefined;
  if (!Array.isArray(list)) throw new BadRequest(`${name} is no list`);
  if (count !== undefined && list.length !== count)
    throw new BadRequest(`${name} has ${list.length} entries, expected ${count}`);
  return list as readonly unknown[];
}

function textIn(name: string, value: unknown, i: number): string {
  if (typeof value === "string") return value;
  throw new BadRequest(`${name}[${i}] is no text`);
}

/**
 * `completions`, else `query` without the `prompts` that it begins with; `labels` are the right answers or tests, `abilities` name scorers.
 *
 * @throws BadRequest
 */
export function inputsOf(text: string): RewardInput[] {
  const body = parsed(text);
  const name = body["completions"] === undefined ? "query" : "completions";
  const texts = listOf(body, name);
  if (!texts) throw new BadRequest('the request has neither "completions" nor "query"');
  const prompts = listOf(body, "prompts", texts.length);
  const labels = listOf(body, "labels", texts.length);
  const abilities = listOf(body, "abilities", texts.length);
  return texts.map((given, i) => {
    const whole = textIn(name, given, i);
    const prompt = prompts ? textIn("prompts", prompts[i], i) : "";
    const completion = name === "query" && whole.startsWith(prompt) ? whole.slice(prompt.length) : whole;
    const answer = labels?.[i] ?? undefined;
    const ability = abilities?.[i] ?? undefined;
    return { completion, prompt, answer, ability: ability === undefined ? undefined : textIn("abilities", ability, i) };
  });
}
