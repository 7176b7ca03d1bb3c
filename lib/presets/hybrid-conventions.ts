// The choices in which revisions of a hybrid reward differ, and where they put it: what a preset can hold for hybridReward and placeRewards.

/** How a text earns +1 or −1 by its form. */
export interface HybridConventions {
  /** Where the answer of a mathematical response is looked for, in order: behind `####`, or in the last box, cut at its first `}`. */
  readonly answers: readonly ("marker" | "box")[];
  /** Whether answer and truth are rewritten to plain notation before they are compared. */
  readonly normalize: boolean;
  /**
   * What counts beside equality: the truth inside the `"answer"`, the truth anywhere in the `"text"`, or an answer of more than 3
   * characters inside the `"truth"`.
   */
  readonly contained: readonly ("answer" | "text" | "truth")[];
  /** What code has to have: `"def"`, the letters `def `; or `"syntax"`: it parses as Python, and defines and returns or prints. */
  readonly code: "def" | "syntax";
}

/** Where a reward per row goes. */
export interface PlacementConventions {
  /**
   * `"kept"`: the row's last kept token; a row without one drops its reward. `"attention"`: column Σ attentionMask − 1, dropped outside of the row.
   * `"unpadded"`: column n − 1 with n the tokens that are not padding, 0 for none. Default `"kept"`.
   */
  readonly column?: "kept" | "attention" | "unpadded";
}
