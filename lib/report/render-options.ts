// How a report is drawn.
import type { CompareOptions } from "./compare/compare-runs";
import type { ReportFacts } from "./model";
import type { SummarizeOptions } from "./summarize";

export interface HtmlOptions extends SummarizeOptions {
  /** Groups a step in the table; the first ones are kept, and the page says how many there are. Default 200. */
  readonly maxGroups?: number;
  /** Rollouts whose prompts and responses are in the file, over all steps; taken from every group in turn. Default 100 000. */
  readonly maxTexts?: number;
  /** Rollouts that the file opens with, over all steps; the others are on pages that follow. Default 10 000. */
  readonly textsAtOnce?: number;
  /** Characters of one prompt or response; a longer one is cut, and says so. Default 20 000. */
  readonly maxTextCharacters?: number;
  /** Rollouts a step whose tokens can be looked at; taken from every group in turn. Default 128. */
  readonly maxRollouts?: number;
  /** Tokens in all rollouts that can be looked at, over all steps. Default 400 000. */
  readonly maxTokens?: number;
  /** Characters of one token's text; a longer one is cut, and says so. Default 200. */
  readonly maxTokenCharacters?: number;
}

export interface ComparisonHtmlOptions extends CompareOptions {
  /** Default: the names of the runs. */
  readonly title?: string;
  /** Configuration and versions, for the footer. */
  readonly facts?: ReportFacts;
  /** Prompts in the table, those that changed most; the page says how many there are. Default 200. */
  readonly maxPrompts?: number;
  /** Characters of one prompt or response; a longer one is cut, and says so. Default 20 000. */
  readonly maxTextCharacters?: number;
}

export interface TerminalOptions {
  /** Colours, as escape sequences. Default false. */
  readonly colour?: boolean;
  /** Columns. Default 80, at least 40. */
  readonly width?: number;
  /** Groups in the table of a step. Default 12. */
  readonly maxGroups?: number;
}
