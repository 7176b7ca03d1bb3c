// EMPG as its pseudocode runs, oddities included: nested and head spans compound, of the end delimiter only the first token
// belongs to a step, the step mean is subtracted everywhere. It says nothing about group advantages.
export const empgLiteral = {
  empgAdvantage: {
    overlapping: true,
    includeEnd: "first",
    unterminated: "drop",
    startsOpen: false,
    k: 1,
    kFuture: 1,
    epsilon: 1e-8,
    nonFinite: "propagate",
    zeta: 0.1,
    scope: "all",
  },
} as const;
