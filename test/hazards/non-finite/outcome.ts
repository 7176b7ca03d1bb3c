// What a call gives when one of its numbers is not finite: every number that differs from the plain call, or the refusal.
import { type BackendName, SurprisalError } from "../../../lib";
import type { Case, Given } from "./cases";

/** A number put in the place of another one. */
export interface Poison {
  readonly input: string;
  readonly at: number;
  readonly value: number;
}

export type Outcome = { readonly refused: SurprisalError } | { readonly result: object };

/** The case on a backend, with one number replaced; `send` says where each array lies. */
export function outcomeOf(
  { inputs, run }: Case,
  backend: BackendName,
  poison?: Poison,
  send: (array: Given) => Given = (array) => array,
): Outcome {
  const given = Object.entries(inputs).map(([name, { values }]) => {
    const own = values.slice();
    if (poison?.input === name) own[poison.at] = poison.value;
    return [name, send(own as Given)] as const;
  });
  try {
    return { result: run(Object.fromEntries(given), backend) };
  } catch (error) {
    if (error instanceof SurprisalError) return { refused: error };
    throw error;
  }
}

/** The numbers of a result by where they stand; but for figures, which are sums of what else is there. */
function numbersOf(value: unknown, path = ""): [path: string, numbers: ArrayLike<number>][] {
  if (typeof value === "number") return [[path, [value]]];
  if (ArrayBuffer.isView(value)) return [[path, value as Given]];
  if (typeof value !== "object" || value === null || /figures$/i.test(path)) return [];
  return Object.entries(value).flatMap(([name, part]) => numbersOf(part, path ? `${path}.${name}` : name));
}

function shown(x: number): string {
  if (Number.isNaN(x)) return "NaN";
  if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
  return String(Number(x.toPrecision(4)));
}

/** `losses 1=NaN; total=NaN`, "unchanged", or the code of the refusal. */
export function changeOf(plain: Outcome, poisoned: Outcome): string {
  if ("refused" in plain) throw plain.refused;
  if ("refused" in poisoned) return poisoned.refused.code;
  const before = new Map(numbersOf(plain.result));
  const changes = numbersOf(poisoned.result).flatMap(([path, numbers]) => {
    const was = before.get(path)!;
    const places = Array.from(numbers).flatMap((x, i) => (Object.is(x, was[i]) ? [] : [`${i}=${shown(x)}`]));
    return places.length > 0 ? [`${path} ${places.join(" ")}`.trim()] : [];
  });
  return changes.join("; ") || "unchanged";
}

/** Whether an answer has a NaN or an infinity, or is a refusal: nobody can overlook it. */
export function shows(change: string): boolean {
  return /NaN|∞|^ERR_/.test(change);
}
