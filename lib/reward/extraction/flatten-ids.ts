// Token ids out of whatever nests them.
import { SurprisalError } from "../../core/errors";

interface Structured {
  readonly data: ArrayLike<unknown>;
}

const isStructured = (value: object): value is Structured => "data" in value && ArrayBuffer.isView(value.data);

function push(ids: number[], value: unknown): void {
  if (typeof value === "boolean") ids.push(value ? 1 : 0);
  else if (typeof value === "number" || typeof value === "bigint") {
    const id = Math.trunc(Number(value));
    if (!Number.isSafeInteger(id))
      throw new SurprisalError("ERR_SURPRISAL_VALUE", `flattenIds: ${value} is no token id, expected a finite number`, {
        op: "flattenIds",
        name: "value",
        got: value,
        want: "finite numbers",
      });
    ids.push(id);
  } else if (Array.isArray(value)) for (const item of value) push(ids, item);
  else if (typeof value === "object" && value !== null) {
    if (ArrayBuffer.isView(value))
      for (const item of value as unknown as ArrayLike<unknown> & Iterable<unknown>) push(ids, item);
    else if (isStructured(value)) push(ids, value.data);
  }
}

/**
 * The numbers of nested lists, typed arrays and `{data, dims}` tensors in their order, as integers: fractions are cut toward zero,
 * true and false are 1 and 0. Texts, null and other records have no numbers and vanish.
 *
 * @throws SurprisalError ERR_SURPRISAL_VALUE for NaN, an infinity or an integer beyond 2^53
 */
export function flattenIds(value: unknown): number[] {
  const ids: number[] = [];
  push(ids, value);
  return ids;
}
