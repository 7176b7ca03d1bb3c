// Whether a text is Python, without running it.
import { loadPeer } from "../../core/peer";

/** The part of @lezer/python that is used. */
interface Grammar {
  readonly parser: {
    parse(text: string): {
      iterate(visitor: { enter(node: { readonly type: { readonly isError: boolean } }): void }): void;
    };
  };
}

let grammar: Grammar | undefined;

/** @throws SurprisalError ERR_SURPRISAL_PEER_MISSING without @lezer/python */
export function isPython(op: string, text: string): boolean {
  grammar ??= loadPeer(op, "@lezer/python", "1") as Grammar;
  let valid = true;
  grammar.parser.parse(text).iterate({
    enter: ({ type }) => {
      if (type.isError) valid = false;
    },
  });
  return valid;
}
