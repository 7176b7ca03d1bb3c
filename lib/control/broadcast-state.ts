// The state of a controller, the same on every worker.
import type { Collective } from "../core/collective";
import { optionError } from "../core/errors";
import { needAgreement } from "../core/row-partials";

/** A number for the names, to see whether all ranks speak of the same fields. */
function hashOf(names: readonly string[]): number {
  let hash = names.length;
  for (const character of names.join()) hash = (Math.imul(hash, 31) + character.charCodeAt(0)) | 0;
  return hash;
}

/**
 * The state that rank `root` has, on every rank: after it alone has measured, or loaded a file. In float64, so no number
 * changes; NaN and −0 stay what they are.
 *
 * @param state a flat object of numbers, or null where a number is not set yet; the same fields on every rank
 * @returns a new object with the fields of `state`
 * @throws SurprisalError ERR_SURPRISAL_OPTION for a field that is neither; ERR_SURPRISAL_SHAPE on all ranks when fields differ
 */
export function broadcastState<State extends object>(state: State, collective: Collective, root = 0): State {
  const op = "broadcastState";
  const names = Object.keys(state).sort();
  const fields = state as Readonly<Record<string, unknown>>;
  const values = names.map((name) => {
    const value = fields[name];
    if (typeof value === "number" || value === null) return value;
    throw optionError(op, `state.${name}`, value, "a number or null");
  });
  needAgreement(op, "the list of fields, as a number,", collective, hashOf(names));
  const sent = Float64Array.from([
    ...values.map((value) => value ?? 0),
    ...values.map((value) => (value === null ? 1 : 0)),
  ]);
  const got = collective.broadcast(sent, root);
  const entries = names.map((name, i) => [name, got[names.length + i] === 1 ? null : got[i]!] as const);
  return Object.fromEntries(entries) as State;
}
