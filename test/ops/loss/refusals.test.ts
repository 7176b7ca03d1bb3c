// Bad input is refused by name, before anything is written.
import { klEstimates, rowLoss, tokenLoss } from "../../../lib";
import { errorCode } from "../../support/error-code";

const clip = { form: "clip", clipLow: 0.2, clipHigh: 0.2 } as const;
const base = { ...clip, shape: [2, 3] as const, logProbs: new Float32Array(6), advantages: new Float32Array(2) };

const token = (changes: object) => () => tokenLoss({ ...base, ...changes });
const row = (changes: object) => () => rowLoss({ ...base, ...changes });

test.each([
  ["an unknown form", token({ form: "hinge" }), "ERR_SURPRISAL_OPTION", /form is "hinge", expected one of "clip"/],
  ["a form of rows", token({ form: "gamma" }), "ERR_SURPRISAL_OPTION", /form/],
  ["a missing width", token({ clipHigh: undefined }), "ERR_SURPRISAL_OPTION", /clipHigh/],
  ["a negative width", token({ clipLow: -0.1 }), "ERR_SURPRISAL_OPTION", /clipLow is -0.1/],
  ["widths of another length", token({ clipLow: new Float32Array(4) }), "ERR_SURPRISAL_SHAPE", /clipLow has 4/],
  ["widths of bytes", token({ clipHigh: new Uint8Array(6) }), "ERR_SURPRISAL_DTYPE", /clipHigh/],
  [
    "widths of tokens where none are read",
    token({ form: "linear", clipLow: undefined, clipHigh: new Float32Array(6) }),
    "ERR_SURPRISAL_OPTION",
    /clipHigh.*reads no bounds/,
  ],
  [
    "widths of no unit",
    token({ clipLow: new Float32Array(2), boundsPer: "batch" }),
    "ERR_SURPRISAL_OPTION",
    /boundsPer/,
  ],
  [
    "widths of tokens where a row has one",
    row({ form: "clipOnce", clipLow: new Float32Array(6), boundsPer: "token" }),
    "ERR_SURPRISAL_OPTION",
    /boundsPer is "token"/,
  ],
  ["a dual clip of 1", token({ dualClip: 1 }), "ERR_SURPRISAL_OPTION", /dualClip/],
  [
    "a number the form does not read",
    token({ temperaturePositive: 1 }),
    "ERR_SURPRISAL_OPTION",
    /temperaturePositive.*does not read/,
  ],
  [
    "a temperature of 0",
    token({ form: "sigmoid", temperaturePositive: 0, temperatureNegative: 1 }),
    "ERR_SURPRISAL_OPTION",
    /temperaturePositive/,
  ],
  ["marks where none are read", token({ marks: new Uint8Array(6) }), "ERR_SURPRISAL_OPTION", /marks/],
  ["missing marks", token({ form: "marked", coefficient: 1 }), "ERR_SURPRISAL_OPTION", /marks/],
  [
    "log-probs of the wrong length",
    token({ logProbs: new Float32Array(5) }),
    "ERR_SURPRISAL_SHAPE",
    /logProbs has 5 elements, expected 6/,
  ],
  ["log-probs of no type", token({ logProbs: new Int16Array(6) }), "ERR_SURPRISAL_DTYPE", /logProbs/],
  ["advantages of the wrong length", token({ advantages: new Float32Array(4) }), "ERR_SURPRISAL_SHAPE", /advantages/],
  ["both layouts", token({ offsets: Int32Array.of(0, 3, 6) }), "ERR_SURPRISAL_OPTION", /shape/],
  [
    "offsets that go down",
    token({ shape: undefined, offsets: Int32Array.of(0, 3, 2) }),
    "ERR_SURPRISAL_RANGE",
    /offsets/,
  ],
  [
    "as many rows as tokens",
    token({ shape: undefined, offsets: Int32Array.of(0, 2, 2), logProbs: new Float32Array(2) }),
    "ERR_SURPRISAL_OPTION",
    /advantagesPer/,
  ],
  [
    "an unknown KL kind",
    token({ kl: { referenceLogProbs: new Float32Array(6), kind: "k4" } }),
    "ERR_SURPRISAL_OPTION",
    /kl\.kind/,
  ],
  [
    "a KL clamp of 0",
    token({ kl: { referenceLogProbs: new Float32Array(6), kind: "k1", valueClamp: 0 } }),
    "ERR_SURPRISAL_OPTION",
    /kl\.valueClamp/,
  ],
  [
    "a reference of the wrong length",
    token({ kl: { referenceLogProbs: new Float32Array(2), kind: "k1" } }),
    "ERR_SURPRISAL_SHAPE",
    /kl\.referenceLogProbs/,
  ],
  ["an unknown output", token({ outputs: ["grad"] }), "ERR_SURPRISAL_OPTION", /outputs/],
  [
    "memory for an output not asked for",
    token({ out: { losses: new Float32Array(6) } }),
    "ERR_SURPRISAL_OPTION",
    /out\.losses/,
  ],
  [
    "memory of the wrong type",
    token({ out: { gradLogProbs: new Float64Array(6) } }),
    "ERR_SURPRISAL_DTYPE",
    /out\.gradLogProbs/,
  ],
  [
    "an output over an input",
    token({ out: { gradLogProbs: base.logProbs } }),
    "ERR_SURPRISAL_BUFFER",
    /gradLogProbs overlaps logProbs/,
  ],
  [
    "advantages per token of a form that has one a row",
    row({ form: "clipOnce", advantages: new Float32Array(6) }),
    "ERR_SURPRISAL_SHAPE",
    /advantages/,
  ],
  ["the same by word", row({ form: "clipOnce", advantagesPer: "token" }), "ERR_SURPRISAL_OPTION", /advantagesPer/],
  [
    "terms of a form that has none",
    row({ form: "clipOnce", termMask: new Uint8Array(6) }),
    "ERR_SURPRISAL_OPTION",
    /termMask/,
  ],
  ["a reduction of a form with its own", row({ form: "geometric", reduce: "sum" }), "ERR_SURPRISAL_OPTION", /reduce/],
  ["old sums that are missing", row({ oldLogProbsPer: "row" }), "ERR_SURPRISAL_DTYPE", /oldLogProbs/],
  [
    "old sums per token",
    row({ oldLogProbsPer: "row", oldLogProbs: new Float32Array(6) }),
    "ERR_SURPRISAL_SHAPE",
    /oldLogProbs has 6 elements, expected 2/,
  ],
])("%s", (_, call, code, message) => {
  expect(errorCode(call)).toBe(code);
  expect(call).toThrow(message);
});

test("klEstimates names itself and its own arguments", () => {
  expect(() => klEstimates(new Float32Array(5), new Float32Array(6), { shape: [2, 3], kind: "k1" })).toThrow(
    /klEstimates: logProbs/,
  );
  expect(() => klEstimates(new Float32Array(6), new Float32Array(5), { shape: [2, 3], kind: "k1" })).toThrow(
    /klEstimates: referenceLogProbs/,
  );
  expect(() => klEstimates(new Float32Array(6), new Float32Array(6), { shape: [2, 3], kind: "k9" as "k1" })).toThrow(
    /klEstimates: kind/,
  );
});

test("nothing is written where a call is refused, and the given memory is used where it is not", () => {
  const gradLogProbs = new Float32Array(6).fill(7);
  expect(token({ out: { gradLogProbs }, clipLow: NaN })).toThrow();
  expect([...gradLogProbs]).toEqual([7, 7, 7, 7, 7, 7]);
  expect(tokenLoss({ ...base, out: { gradLogProbs } }).gradLogProbs).toBe(gradLogProbs);
  expect([...gradLogProbs]).toEqual([0, 0, 0, 0, 0, 0]);
});
