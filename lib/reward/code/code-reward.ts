// Rewards of programs: they run against tests in a sandbox.
import { argumentError, SurprisalError } from "../../core/errors";
import { needNumber, needWord } from "../../core/option-checks";
import type { RewardCallOptions, RewardResult } from "../reward-function";
import { OUTPUT_COMPARISONS, type OutputComparison, sameOutput } from "./compare-output";
import { extractCode } from "./extract-code";
import type { CodeLanguage } from "./protocol";
import { type CodeSandbox, sharedSandbox, SandboxPool } from "./sandbox";
import type { ProcessReply, SandboxProcess } from "./sandbox-process";

const LANGUAGES = ["python", "javascript"] as const;
const CREDITS = ["all", "fraction"] as const;

/** What a program is tested with: inputs with their outputs, or assertions about its functions, or both. */
export interface CodeTests {
  /** Default `"python"`. */
  readonly language?: CodeLanguage;
  /** The program runs once for each, reads the input and has to print the output. */
  readonly io?: readonly { readonly input: string; readonly output: string }[];
  /** Statements about the program's functions and classes; each text is one test. They run where the program cannot reach them. */
  readonly assertions?: string | readonly string[];
  /** Runs before the assertions, beside them: imports and helpers of theirs. */
  readonly setup?: string;
  /** The program's names that the assertions use. Default: all but those of built-ins, of standard modules and of `setup`. */
  readonly names?: readonly string[];
}

export interface CodeRewardOptions extends RewardCallOptions {
  /** Default: one that all calls share, with the limits that createCodeSandbox has by default. */
  readonly sandbox?: CodeSandbox;
  /** Milliseconds for each run of a program, > 0. Default: the sandbox's. */
  readonly timeLimit?: number;
  /** `"all"`: 1 if every test passes, else 0. `"fraction"`: the passed tests over all. Default `"all"`, which ends at the first failure. */
  readonly credit?: (typeof CREDITS)[number];
  /** How outputs are compared. Default `"lines"`. */
  readonly compare?: OutputComparison;
  /** Of numbers, relative to the larger of 1 and the wanted one, with `compare: "tokens"`; >= 0. Default 0. */
  readonly tolerance?: number;
}

interface Job {
  readonly source: string;
  readonly tests: CodeTests;
  readonly timeLimit: number;
  readonly signal: AbortSignal | undefined;
  readonly every: boolean;
  readonly accepts: (got: string, want: string) => boolean;
}

interface Verdict {
  readonly reason: string;
  readonly details: Readonly<Record<string, unknown>>;
}

const PASSED: Verdict = { reason: "passed", details: {} };

function verdictOf(reply: ProcessReply): Verdict {
  const { status, error, line } = reply;
  if (status === "ok") return PASSED;
  const reason = status === "error" ? (reply.syntax === true ? "syntax error" : "error") : status;
  return { reason, details: { error, line } };
}

const assertionsOf = ({ assertions }: CodeTests): readonly string[] =>
  assertions === undefined ? [] : typeof assertions === "string" ? [assertions] : assertions;

async function runInput(
  sandbox: SandboxProcess,
  job: Job,
  { input, output }: { input: string; output: string },
): Promise<Verdict> {
  const reply = await sandbox.ask({ op: "run", source: job.source, stdin: input }, job.timeLimit);
  if (reply.status !== "ok") return verdictOf(reply);
  const printed = reply.stdout ?? "";
  return job.accepts(printed, output)
    ? PASSED
    : { reason: "wrong output", details: { printed: printed.slice(0, 500) } };
}

async function load(sandbox: SandboxProcess, job: Job): Promise<Verdict> {
  const { source, tests } = job;
  const reply = await sandbox.ask(
    { op: "load", source, setup: tests.setup ?? "", names: tests.names ?? null },
    job.timeLimit,
  );
  if (reply.status === "tests failed to load")
    throw new SurprisalError(
      "ERR_SURPRISAL_VALUE",
      `codeReward: the setup of the tests failed: ${reply.error ?? "?"}`,
      { op: "codeReward", name: "setup", got: reply.error },
    );
  return verdictOf(reply);
}

async function runAssertion(sandbox: SandboxProcess, job: Job, source: string): Promise<Verdict> {
  const reply = await sandbox.ask({ op: "check", source }, job.timeLimit);
  return reply.status === "error" && reply.type === "AssertionError"
    ? { ...verdictOf(reply), reason: "assertion failed" }
    : verdictOf(reply);
}

/** Each test's verdict. A process that dies is replaced, and the next test begins anew. */
async function judge(pool: SandboxPool, job: Job): Promise<Verdict[]> {
  const { language = "python", io = [] } = job.tests;
  const assertions = assertionsOf(job.tests);
  const steps = [
    ...io.map((test) => (sandbox: SandboxProcess) => runInput(sandbox, job, test)),
    ...assertions.map((test) => (sandbox: SandboxProcess) => runAssertion(sandbox, job, test)),
  ];
  const verdicts: Verdict[] = [];
  while (verdicts.length < steps.length) {
    await pool.use(language, assertions.length > 0, job.signal, async (sandbox) => {
      let loaded = false;
      while (sandbox.alive && verdicts.length < steps.length) {
        if (verdicts.length >= io.length && !loaded) {
          const verdict = await load(sandbox, job);
          if (verdict !== PASSED) {
            while (verdicts.length < steps.length) verdicts.push(verdict);
            return;
          }
          loaded = true;
        }
        const verdict = await steps[verdicts.length]!(sandbox);
        verdicts.push(verdict);
        if (verdict !== PASSED && !job.every) return;
        if (verdict.reason === "crash") return;
      }
    });
    if (!job.every && verdicts.at(-1) !== PASSED) break;
  }
  return verdicts;
}

function needTests(op: string, tests: CodeTests, i: number): number {
  needWord(op, `tests[${i}].language`, tests.language ?? "python", LANGUAGES);
  const count = (tests.io?.length ?? 0) + assertionsOf(tests).length;
  if (count === 0)
    throw argumentError(
      "ERR_SURPRISAL_OPTION",
      op,
      `tests[${i}]`,
      tests,
      "io or assertions, at least one",
      "a program without a test has no reward",
    );
  return count;
}

/**
 * Runs the program of each completion against its tests. A program has a fresh interpreter for itself, without files, network,
 * processes, packages or anything of the host; tests and expected outputs are never in it. Whatever a program does, its reward is 0
 * with the reason, and the next one is not affected:
 *
 *     "passed"  "wrong output"  "assertion failed"  "error"  "syntax error"  "exit"  "no code"
 *     "time limit"  "memory limit"  "output limit"  "crash"
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
  if (!(pool instanceof SandboxPool))
    throw argumentError("ERR_SURPRISAL_OPTION", op, "sandbox", pool, "what createCodeSandbox gives");
  const timeLimit = needNumber(op, "timeLimit", options.timeLimit ?? pool.timeLimit, { min: 0, above: true });
  const every = needWord(op, "credit", options.credit ?? "all", CREDITS) === 1;
  const compare = OUTPUT_COMPARISONS[needWord(op, "compare", options.compare ?? "lines", OUTPUT_COMPARISONS)]!;
  const tolerance = needNumber(op, "tolerance", options.tolerance ?? 0, { min: 0 });
  const given = Array.isArray(tests) ? (tests as readonly CodeTests[]) : completions.map(() => tests as CodeTests);
  if (given.length !== completions.length)
    throw argumentError(
      "ERR_SURPRISAL_SHAPE",
      op,
      "tests.length",
      given.length,
      `${completions.length}, one per completion, or one for all`,
    );
  const counts = given.map((own, i) => needTests(op, own, i));
  options.signal?.throwIfAborted();

  let done = 0;
  const rewardOf = async (completion: string, i: number): Promise<RewardResult> => {
    const own = given[i]!;
    const source = extractCode(completion, own.language);
    const job = {
      tests: own,
      timeLimit,
      signal: options.signal,
      every,
      accepts: (got: string, want: string) => sameOutput(got, want, compare, tolerance),
    };
    const verdicts = source === null ? [{ reason: "no code", details: {} }] : await judge(pool, { ...job, source });
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
