// What short calls give in somebody else's project: each is typed as a user would, and all of them run in one process.
import type { Consumer } from "./consumer";

/** What a snippet came to: its value, as JSON keeps it, or the code and the message that it was refused with. */
export interface Outcome {
  readonly value?: unknown;
  readonly code?: string;
  readonly message?: string;
}

/** JSON has no place for typed arrays and numbers that are not finite: arrays are lists, such numbers are their names. */
const PRELUDE = `
const surprisal = require("surprisal");
const io = require("surprisal/io");
const plain = (_, x) =>
  ArrayBuffer.isView(x) ? Array.from(x, (one) => plain("", one)) : typeof x === "bigint" || (typeof x === "number" && !Number.isFinite(x)) ? String(x) : x;
const outcome = async (run) => {
  try {
    return { value: await run() };
  } catch (error) {
    return { code: error.code ?? error.name, message: error.message };
  }
};
`;

/** Runs the snippets, each an expression, behind a common beginning. */
export function runSnippets(consumer: Consumer, before: string, snippets: readonly string[]): Outcome[] {
  const calls = snippets.map((snippet) => `async () => (${snippet})`).join(",\n");
  const program = `${PRELUDE}${before}
void (async () => {
  const outcomes = [];
  for (const run of [${calls}]) outcomes.push(await outcome(run));
  console.log(JSON.stringify(outcomes, plain));
})();
`;
  return JSON.parse(consumer.run("snippets.cjs", program)) as Outcome[];
}
