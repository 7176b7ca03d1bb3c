// State that stands once in a process, and once in each of its worker threads, however many copies of this package are loaded
// there: a bundle may carry one beside the one that Node loads. Copies with other contracts keep to themselves.
import { CONTRACTS } from "./contract/names";

const KEY = Symbol.for(`surprisal.state.${CONTRACTS}`);
const holder = globalThis as { [KEY]?: Record<string, object> };
const states = (holder[KEY] ??= {});

/** The state under a name; what is given here where no copy has made it yet. */
export function processState<State extends object>(name: string, initial: State): State {
  return (states[name] ??= initial) as State;
}
