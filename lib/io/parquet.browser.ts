// parquet.ts in a browser: refused.
import { notInBrowser } from "./not-in-browser";
import type { Rollout } from "./record";

export function parquetRollouts(
  _source: unknown,
  _bytes: number,
  { op }: { readonly op: string },
): AsyncGenerator<Rollout> {
  throw notInBrowser(op, "reading Parquet");
}
