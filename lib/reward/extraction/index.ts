// Answers out of responses.
export { boxedAnswer } from "./boxed";
export { flattenIds } from "./flatten-ids";
export { normalizeMathText } from "./normalize-math";
export { numberAnswer } from "./number-answer";
export type { NumberAnswerMethod } from "./number-answer";
export { splitThinking } from "./thinking";
export type { SplitThinking } from "./thinking";
