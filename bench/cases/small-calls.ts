// What a call costs on 64 tokens or fewer, with memory given where the function takes it.
import type { Budget } from "../accuracy/measure";
import type { Library } from "../harness/build";
import type { Case, Work } from "../harness/case";
import { errorOf } from "../harness/check";
import { SMALL } from "../shapes";
import { poison } from "./poison";
import { floats, type Outputs, type SmallCall } from "./small-call";
import { CALLS_OF_GROUPS } from "./small-calls-of-groups";
import { CALLS_OF_TOKENS } from "./small-calls-of-tokens";

const CLOSE: Budget = { says: "2e-6·|x| + 2e-6", allowed: (want) => 2e-6 * Math.abs(want) + 2e-6 };

const CALLS = { ...CALLS_OF_TOKENS, ...CALLS_OF_GROUPS };

function workOf(name: string, { out, run, checked, wanted }: SmallCall, lib: Library): Work {
  let returned: unknown;
  return {
    name,
    prepare: () => {
      poison(...Object.values(out));
      returned = undefined;
    },
    run: () => void (returned = run(lib, out)),
    check: () => {
      const got = out[checked] ?? (returned as Outputs | undefined)?.[checked] ?? floats(wanted().length).fill(NaN);
      return { [checked]: errorOf(got, { values: Float64Array.from(wanted()), budget: CLOSE }) };
    },
  };
}

export const SMALL_CALL_NAMES = Object.keys(CALLS);

export function smallCallSubject(name: string) {
  return { ours: (lib: Library) => workOf(name, CALLS[name]!, lib) };
}

export function smallCallCases(): Case[] {
  return SMALL_CALL_NAMES.map((name) => ({
    kernel: CALLS[name]!.kernel,
    op: `${name}, small call`,
    dtype: "float32",
    rowKind: "all kept",
    shape: SMALL.tokens,
    threads: 1,
    quick: true,
    prepare: () => smallCallSubject(name),
  }));
}
