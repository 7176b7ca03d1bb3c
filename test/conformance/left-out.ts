// Recorded functions that this library leaves out on purpose, with the reason. At most ten.
export const LEFT_OUT: ReadonlyMap<string, string> = new Map([
  [
    "areal/dpo_preference_loss",
    "a loss of pairs of given texts: no rollouts, no advantages; this library's losses are those of rollouts",
  ],
]);
