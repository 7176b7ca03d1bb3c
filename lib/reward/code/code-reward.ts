// Rewards of programs: they run against tests in a sandbox.
import { optionError, shapeError } from "../../core/errors";
import { needNumber, needWord } from "../../core/option-checks";
import type { RewardCallOptions, RewardResult } from "../reward-function";
import { OUTPUT_COMPARISONS, type OutputComparison } from "./compare-output";
import { compareOutput } from "./compare-thread";
import { extractCode } from "./extract-code";
import { judge, PASSED, type Verdict } from "./judge";
import type { CodeLanguage } from "./protocol";
import { type CodeSandbox, sharedSandbox, SandboxPool } from "./sandbox";

const LANGUAGES = ["python", "javascript"] as const;
const CREDITS = ["all", "fraction"] as const;
const ISOLATIONS = ["separate", "shared"] as const;

/** What a program is tested with: inputs with their outputs, or assertions about its functions, or both. */
export interface CodeTests {
  /** Default `"python"`. */
  readonly language?: CodeLanguage;
  /** The program runs once for each, reads the input and has to print the output. */
  readonly io?: readonly { readonly input: string; readonly output: string }[];
  /** Statements about the program's functions and classes; each text is one test, which asserts something of what the program returns. */
  readonly assertions?: string | readonly string[];
  /** Runs before the assertions, beside them: imports and helpers of theirs. */
  readonly setup?: string;
  /** The program's names that the assertions use. Default: every name that is neither theirs nor a built-in's nor a standard module's. */
  readonly names?: readonly string[];
  /**
   * `"shared"`: a program can forge its verdict. Assertions run in the program's own interpreter then and can keep its objects, subclass
   * its classes and enter its `with`; for programs that are trusted. `"separate"`: they run in another process, and only plain data
   * crosses. Default `"separate"`.
   */
  readonly isolation?: (typeof ISOLATIONS)[number];
}

export interface CodeRewardOptions extends RewardCallOptions {
  /** Default: one that all calls share, with the limits that createCodeSandbox has by default. */
  readonly sandbox?: CodeSandbox;
  /** Milliseconds of processor time for each run of a program and each test, > 0; by the clock 60 s and 20 times as much. Default: the sandbox's. */
  readonly timeLimit?: number;
  /** `"all"`: 1 if every test passes, else 0. `"fraction"`: the passed tests over all. Default `"all"`, which ends at the first failure. */
  readonly credit?: (typeof CREDITS)[number];
  /** How outputs are compared. Default `"lines"`. */
  readonly compare?: OutputComparison;
  /** Of numbers, relative to the larger of 1 and the wanted one, with `compare: "tokens"`; >= 0. Default 0. */
  readonly tolerance?: number;
}

const assertionsOf = ({ assertions }: CodeTests): readonly string[] =>
  assertions === undefined ? [] : typeof assertions === "string" ? [assertions] : assertions;

function needTests(op: string, tests: CodeTests, i: number): number {
  needWord(op, `tests[${i}].language`, tests.language ?? "python", LANGUAGES);
  needWord(op, `tests[${i}].isolation`, tests.isolation ?? "separate", ISOLATIONS);
  const count = (tests.io?.length ?? 0) + assertionsOf(tests).length;
  if (count === 0)
    throw optionError(
      op,
      `tests[${i}]`,
      tests,
      "io or assertions, at least one",
      "a program without a test has no reward",
    );
  return count;
}

/**
 * Runs the program of each completion where nothing is compared: outputs are compared in the calling process, and assertions, which
 * are code, not there but in a second sandboxed process that gets plain data and runs no line of the program; with
 * `isolation: "shared"` a program can forge its verdict. A program has a process for itself, without files, network, other processes,
 * packages or anything of the host; tests and expected outputs are never in it, and only plain data leaves it. A program that fails has
 * the reward 0 with the reason, and the next one is not affected:
 *
 *     "passed"  "wrong output"  "assertion failed"  "cannot cross"  "error"  "syntax error"  "exit"  "no code"
 *     "time limit"  "memory limit"  "output limit"  "crash"
 *
 * `"no assertion"` and `"no call"` are failures of the tests: one that ran without asserting anything, or without asking the program.
 *
 * @param completions texts; the program is what `extractCode` finds
 * @param tests one for each completion, or one for all
 * @returns `details`: `passed` and `total` tests, and of the first that failed its number `test`, `error`, `line`, what it `printed`
 * @throws SurprisalError ERR_SURPRISAL_PEER_MISSING without pyodide or quickjs-emscripten; ERR_SURPRISAL_OPTION, _SHAPE, _VALUE (a setup
 *   that fails) or _SANDBOX; the reason of `signal`
 */
export async function codeReward(
  completions: readonly string[],
  tests: CodeTests | readonly CodeTests[],
  options: CodeRewardOptions = {},
): Promise<RewardResult[]> {
  const op = "codeReward";
  const pool = options.sandbox ?? sharedSandbox();
  if (!(pool instanceof SandboxPool)) throw optionError(op, "sandbox", pool, "what createCodeSandbox gives");
  const timeLimit = needNumber(op, "timeLimit", options.timeLimit ?? pool.timeLimit, { min: 0, above: true });
  const every = needWord(op, "credit", options.credit ?? "all", CREDITS) === 1;
  const compare = OUTPUT_COMPARISONS[needWord(op, "compare", options.compare ?? "lines", OUTPUT_COMPARISONS)]!;
  const tolerance = needNumber(op, "tolerance", options.tolerance ?? 0, { min: 0 });
  const given = Array.isArray(tests) ? (tests as readonly CodeTests[]) : completions.map(() => tests as CodeTests);
  if (given.length !== completions.length)
    throw shapeError(op, "tests.length", given.length, `${completions.length}, one per completion, or one for all`);
  const counts = given.map((own, i) => needTests(op, own, i));
  options.signal?.throwIfAborted();

  let done = 0;
  const rewardOf = async (completion: string, i: number): Promise<RewardResult> => {
    const own = given[i]!;
    const source = extractCode(completion, own.language);
    const job = {
      language: own.language ?? "python",
      io: own.io ?? [],
      assertions: assertionsOf(own),
      setup: own.setup ?? "",
      names: own.names ?? null,
      shared: own.isolation === "shared",
      timeLimit,
      signal: options.signal,
      every,
      accepts: (printed: Uint8Array, wanted: string) =>
        compareOutput({ printed, wanted, comparison: compare, tolerance }),
    };
    const verdicts: Verdict[] =
      source === null ? [{ reason: "no code", details: {} }] : await judge(pool, { ...job, source });
    const passed = verdicts.filter((verdict) => verdict === PASSED).length;
    const first = verdicts.findIndex((verdict) => verdict !== PASSED);
    const total = counts[i]!;
    options.onProgress?.(++done, completions.length);
    return {
      reward: every ? passed / total : passed === total ? 1 : 0,
      reason: verdicts[first]?.reason ?? "passed",
      details: first < 0 ? { passed, total } : { passed, total, test: first, ...verdicts[first]!.details },
    };
  };
  return inOrder(completions, 2 * pool.workers, rewardOf);
}

/** The results of `work` over all items, of which `width` are begun at a time. The first failure ends it. */
async function inOrder<T>(
  items: readonly string[],
  width: number,
  work: (item: string, i: number) => Promise<T>,
): Promise<T[]> {
  const results = new Array<T>(items.length);
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < items.length) {
      const i = next++;
      results[i] = await work(items[i]!, i);
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, lane));
  return results;
}
