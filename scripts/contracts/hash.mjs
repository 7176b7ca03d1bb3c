// What a backend library, the addon and lib/ have to agree on, as one number.
import { createHash } from "node:crypto";

/** Eight hexadecimal digits, of the code of all headers and of what the comments of arrays say; no other comment is in it. */
export function hashOf(headers, { ops }) {
  const code = headers.map(({ text }) => text.replace(/\/\*[^]*?\*\//g, "").replace(/\s+/g, " "));
  const shapes = ops.map(({ name, dtypes, arrays, rows }) => [
    name,
    dtypes,
    arrays.map(({ wide, extents, sameMemoryAs }) => [wide, extents, sameMemoryAs]),
    rows,
  ]);
  return createHash("sha256")
    .update(JSON.stringify([code, shapes]))
    .digest("hex")
    .slice(0, 8);
}
