// Whether two answers have the same value.
import { needNumber } from "../../core/option-checks";
import { toLatex } from "./notation";
import { readRational, sameRational } from "./rational";
import { readStructures, type Structure } from "./structure";
import { symbolicWorker } from "./symbolic";

export interface MathEqualOptions {
  /** Of numbers that are written out, relative to the larger of 1 and the wanted one, >= 0. Default 0: exactly equal. */
  readonly tolerance?: number;
  /** Ask @cortex-js/compute-engine where neither numbers nor texts decide. Default true. */
  readonly symbolic?: boolean;
  /** Milliseconds for one question to it, > 0; 2000 if it is not given. */
  readonly timeLimit?: number;
}

/** `"time limit"`: not decided in time, which counts as different. */
export type MathComparison = "equal" | "different" | "time limit";

interface Rules {
  readonly op: string;
  readonly tolerance: number;
  readonly symbolic: boolean;
  readonly timeLimit: number;
}

/** Longer texts are no answers; comparing them would only cost time. */
const LONGEST = 2000;

const bare = (text: string): string => text.replaceAll(/\s+/g, "");
const isWord = (text: string): boolean => /^[A-Za-z][A-Za-z ]*[A-Za-z]$/.test(text);
/** A choice among few: (A), A. */
const choice = (text: string): string | null => /^\(?([A-Z])\)?\.?$/.exec(text)?.[1] ?? null;
/** Words that are no product of unknowns. */
const isProse = (text: string): boolean =>
  /[a-zA-Z]{4,}(?!\s*[({\\^_])/.test(text.replaceAll(/\\[a-zA-Z]+|sqrt|sinh|cosh|tanh|arcsin|arccos|arctan/g, ""));

async function leaves(a: string, b: string, rules: Rules): Promise<MathComparison> {
  const [x, y] = [readRational(a), readRational(b)];
  if (x && y) return sameRational(x, y, rules.tolerance) ? "equal" : "different";
  if (bare(a) === bare(b)) return bare(a) === "" ? "different" : "equal";
  const [first, second] = [choice(a), choice(b)];
  if (first !== null && second !== null) return first === second ? "equal" : "different";
  if (isWord(a) && isWord(b) && a.toLowerCase() === b.toLowerCase() && a.length > 1) return "equal";
  if (!rules.symbolic || isProse(a) || isProse(b) || a === "" || b === "") return "different";
  return symbolicWorker.ask(rules.op, { a: toLatex(a), b: toLatex(b) }, rules.timeLimit);
}

async function inOrder(a: readonly Structure[], b: readonly Structure[], rules: Rules): Promise<MathComparison> {
  if (a.length !== b.length) return "different";
  for (const [i, item] of a.entries()) {
    const comparison = await structures(item, b[i]!, rules);
    if (comparison !== "equal") return comparison;
  }
  return "equal";
}

/** As sets: each part of one has an equal part in the other. */
async function inAnyOrder(a: readonly Structure[], b: readonly Structure[], rules: Rules): Promise<MathComparison> {
  const seen = new Set<MathComparison>();
  const covered = async (some: readonly Structure[], all: readonly Structure[], flipped: boolean): Promise<boolean> => {
    for (const item of some) {
      let found = false;
      for (const other of all) {
        const comparison = flipped ? await structures(other, item, rules) : await structures(item, other, rules);
        seen.add(comparison);
        if (comparison === "equal") {
          found = true;
          break;
        }
      }
      if (!found) return false;
    }
    return true;
  };
  if ((await covered(a, b, false)) && (await covered(b, a, true))) return "equal";
  return seen.has("time limit") ? "time limit" : "different";
}

async function structures(a: Structure, b: Structure, rules: Rules): Promise<MathComparison> {
  if (a.kind === "leaf" && b.kind === "leaf") return leaves(a.text, b.text, rules);
  if (a.kind === "set" || b.kind === "set") {
    const items = (of: Structure): readonly Structure[] => (of.kind === "set" ? of.items : [of]);
    return inAnyOrder(items(a), items(b), rules);
  }
  if (a.kind === "group" && b.kind === "group")
    return a.open === b.open && a.close === b.close ? inOrder(a.items, b.items, rules) : "different";
  if (a.kind === "matrix" && b.kind === "matrix") {
    if (a.rows.length !== b.rows.length) return "different";
    for (const [i, row] of a.rows.entries()) {
      const comparison = await inOrder(row, b.rows[i]!, rules);
      if (comparison !== "equal") return comparison;
    }
    return "equal";
  }
  return "different";
}

/** As mathEqual, in the name of the public function `op`. */
export async function compareMath(
  op: string,
  answer: string,
  wanted: string,
  options: MathEqualOptions,
): Promise<MathComparison> {
  const rules = {
    op,
    tolerance: needNumber(op, "tolerance", options.tolerance ?? 0, { min: 0 }),
    symbolic: options.symbolic ?? true,
    timeLimit: needNumber(op, "timeLimit", options.timeLimit ?? 2000, { min: 0, above: true }),
  };
  if (answer.length > LONGEST || wanted.length > LONGEST) return answer === wanted ? "equal" : "different";
  return structures(...readStructures(answer, wanted), rules);
}

/**
 * Whether two answers, LaTeX or plain, have the same value. Numbers that are written out (integers, decimals, fractions, mixed numbers,
 * percents, powers of ten) are compared exactly, as fractions; intervals, points and matrices part by part, with their brackets; sets,
 * lists and unions in any order. What is left is asked of @cortex-js/compute-engine, in a worker that is stopped at the time limit:
 *
 *     equal  ⇐  same form, or a difference of 0, or |a − b| <= 1e-9·max(1, |b|) at 4 or more of 8 fixed points of the unknowns
 *
 * Nothing is a part of something else: 42 is not 142.
 *
 * @throws SurprisalError ERR_SURPRISAL_PEER_MISSING where the symbolic library is needed and not installed; ERR_SURPRISAL_OPTION
 */
export async function mathEqual(answer: string, wanted: string, options: MathEqualOptions = {}): Promise<boolean> {
  return (await compareMath("mathEqual", answer, wanted, options)) === "equal";
}
