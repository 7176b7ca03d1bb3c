// EMPG: steps by delimiters, their weights, modulated advantages. The literal cases run with preset "empg-literal".
import {
  empgAdvantage,
  findSpans,
  stepWeights,
  type EmpgAdvantageResult,
  type FindSpansOptions,
  type Spans,
} from "surprisal";
import type { Inputs } from "../inputs";
import type { Mapping, Outputs } from "../mapping";
import { columns } from "./arrange";

const optionWords = {
  includeEnd: ["all", "first", "none"],
  unterminated: ["drop", "keep"],
  scope: ["mask", "all", "segments"],
} as const;

function delimiters(inputs: Inputs): Pick<FindSpansOptions, "start" | "end" | "head"> {
  return {
    start: inputs.numbers("start"),
    end: inputs.numbers("end"),
    head: inputs.has("head") ? inputs.numbers("head") : null,
  };
}

function spanOptions(inputs: Inputs) {
  return {
    startsOpen: inputs.boolean("starts_open"),
    overlapping: inputs.boolean("overlapping"),
    includeEnd: inputs.oneOf("include_end", optionWords.includeEnd),
    unterminated: inputs.oneOf("unterminated", optionWords.unterminated),
  };
}

function batch(inputs: Inputs) {
  return {
    shape: inputs.shape2("tokens"),
    tokens: inputs.int32("tokens"),
    entropies: inputs.floats("entropy"),
    advantages: inputs.floats("advantages"),
  };
}

function sharpness(inputs: Inputs) {
  return { k: inputs.number("k"), kFuture: inputs.number("k_f") };
}

/** Begin and finish of each span: a golden case of one row names no row. */
function ranges({ spans, count }: Spans): Outputs {
  return { segments: { data: columns(spans, 3, [1, 2]), shape: [count, 2] } };
}

function modulated(result: EmpgAdvantageResult): Outputs {
  return {
    advantages: result.advantages,
    segments: result.spans,
    step_entropy: result.stepEntropies,
    entropy_norm: result.entropyNorms,
    scale: result.scales,
    clarity: result.clarities,
    mean: result.mean,
  };
}

export const empg: readonly Mapping[] = [
  {
    family: "empg",
    function: "find_delimited_segments",
    ours: "findSpans",
    options: "overlapping",
    differs: "one row at a time, so spans without its number",
    failures: { ValueError: ["ERR_SURPRISAL_SHAPE"] },
    run: (inputs, { backend }) => {
      const literal = { overlapping: true, includeEnd: "first" } as const;
      return ranges(findSpans(inputs.int32("tokens"), { ...delimiters(inputs), ...literal, backend }));
    },
  },
  {
    family: "empg",
    function: "find_delimited_segments_options",
    ours: "findSpans",
    differs: "one row at a time, so spans without its number",
    failures: { ValueError: ["ERR_SURPRISAL_SHAPE"] },
    run: (inputs, { backend }) =>
      ranges(findSpans(inputs.int32("tokens"), { ...delimiters(inputs), ...spanOptions(inputs), backend })),
  },
  {
    family: "empg",
    function: "step_weights",
    ours: "stepWeights",
    run: (inputs, { backend }) => {
      const options = { ...sharpness(inputs), nonFinite: "propagate", backend } as const;
      const weights = stepWeights(inputs.floats("step_entropy"), options);
      return { entropy_norm: weights.entropyNorms, scale: weights.scales, clarity: weights.clarities };
    },
  },
  {
    family: "empg",
    function: "empg_advantage",
    ours: "empgAdvantage",
    options: 'preset "empg-literal"',
    run: (inputs, { backend }) =>
      modulated(
        empgAdvantage(batch(inputs), {
          preset: "empg-literal",
          ...delimiters(inputs),
          ...sharpness(inputs),
          zeta: inputs.number("zeta"),
          backend,
        }),
      ),
  },
  {
    family: "empg",
    function: "empg_advantage_options",
    ours: "empgAdvantage",
    run: (inputs, { backend }) =>
      modulated(
        empgAdvantage(
          { ...batch(inputs), mask: inputs.uint8("mask") },
          {
            ...delimiters(inputs),
            ...spanOptions(inputs),
            ...sharpness(inputs),
            zeta: inputs.number("zeta"),
            scope: inputs.oneOf("scope", optionWords.scope),
            backend,
          },
        ),
      ),
  },
];
