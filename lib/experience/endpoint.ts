// Where requests go: an address and headers, whose secrets no message shows.
import { inspect } from "node:util";

import { optionError } from "../core/errors";

/** Stands for a secret. */
const HIDDEN = "…";
/** A secret that is shorter would black out half of every message. */
const SHORTEST = 4;

/** Headers that everybody may see. */
const OPEN_HEADERS = new Set(["accept", "content-type", "content-length", "user-agent"]);

export interface Endpoint {
  readonly url: URL;
  readonly headers: Headers;
  /** The address without name, password and query, as messages have it. */
  readonly shown: string;
  /** A text without the secrets of the address and the headers. */
  readonly hide: (text: string) => string;
  /** The error itself where none of its messages has a secret in it; else undefined. */
  readonly safeCause: (error: unknown) => unknown;
}

function needUrl(op: string, text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url?.protocol !== "http:" && url?.protocol !== "https:")
    // Not shown as it is: it may have a key in it.
    throw optionError(op, "url", undefined, "an address that begins with http:// or https://");
  return url;
}

function needHeaders(op: string, given: Readonly<Record<string, string>>): Headers {
  const headers = new Headers({ "content-type": "application/json", accept: "application/json" });
  for (const [name, value] of Object.entries(given)) {
    try {
      headers.set(name, value);
    } catch {
      throw optionError(
        op,
        `headers[${JSON.stringify(name)}]`,
        HIDDEN,
        "a name and value that HTTP allows",
        "it is not shown",
      );
    }
  }
  return headers;
}

/** A value, and its parts where it has some: the key of "Bearer key". */
const withParts = (value: string): string[] => [value, ...value.split(/\s+/), encodeURIComponent(value)];

/** Of what stands in an address with `%` for other characters; as it stands where that is not so. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * Takes an address apart: a name and a password in it become the header `authorization`, as fetch refuses them.
 *
 * @throws SurprisalError ERR_SURPRISAL_OPTION for another address, and for a header that HTTP does not allow; neither is shown
 */
export function needEndpoint(op: string, text: string, given: Readonly<Record<string, string>>): Endpoint {
  const url = needUrl(op, text);
  const headers = needHeaders(op, given);
  const [name, password] = [decoded(url.username), decoded(url.password)];
  if ((name !== "" || password !== "") && !headers.has("authorization"))
    headers.set("authorization", `Basic ${Buffer.from(`${name}:${password}`).toString("base64")}`);
  url.username = "";
  url.password = "";
  const values = [...headers].flatMap(([header, value]) => (OPEN_HEADERS.has(header) ? [] : [value]));
  const secrets = [password, ...values, ...url.searchParams.values()]
    .flatMap(withParts)
    .filter((secret) => secret.length >= SHORTEST && !/^(?:bearer|basic)$/i.test(secret))
    .sort((a, b) => b.length - a.length);
  const hide = (message: string): string => secrets.reduce((rest, secret) => rest.replaceAll(secret, HIDDEN), message);
  const safeCause = (error: unknown): unknown => {
    const all = inspect(error, { depth: 6 });
    return secrets.some((secret) => all.includes(secret)) ? undefined : error;
  };
  return { url, headers, shown: `${url.origin}${url.pathname}`, hide, safeCause };
}
