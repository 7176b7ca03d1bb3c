// tensor-files.ts in a browser: refused.
import { notInBrowser } from "./not-in-browser";
import type { Rollout } from "./record";

export function tensorRollouts(_source: unknown, { op }: { readonly op: string }): AsyncGenerator<Rollout> {
  throw notInBrowser(op, "reading safetensors and npz");
}
