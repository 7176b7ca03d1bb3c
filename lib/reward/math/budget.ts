// How much work an answer may cost on the caller's thread.

/** What an answer costs is more than it may: it is left undecided. */
export class TooCostly extends Error {}

/** One step is a token, a node, or an operation on two integers of at most `MOST_BITS` bits. */
export class Budget {
  constructor(private left: number) {}

  spend(steps = 1): void {
    this.left -= steps;
    if (this.left < 0) throw new TooCostly("an answer takes too many steps");
  }

  get rest(): number {
    return this.left;
  }
}

/** Of both answers together. */
export const STEPS = 6000;
/** Longer answers are compared as texts. */
export const LONGEST = 1000;
/** Brackets within brackets. */
export const DEEPEST = 60;
/** Of an integer, about 400 digits. */
export const MOST_BITS = 1330;
