// What a page has besides that follows a run: a switch, the news, and what could not be read.
import { label } from "../visible";
import { html, type Markup, nothing } from "./markup";

/** What the script of the page compares with the news. */
export interface LiveState {
  /** Another one whenever the page would be another one. */
  readonly revision: string;
  readonly steps: number;
  readonly rollouts: number;
}

export interface Live extends LiveState {
  /** Files that could not be read, with why. */
  readonly problems: readonly string[];
}

/** Problems that are listed one by one. */
const LISTED = 5;

export function liveControl({ revision, steps, rollouts }: LiveState): Markup {
  return html`<div class="live needs-script" id="live" data-revision="${revision}" data-steps="${steps}" data-rollouts="${rollouts}"><label><input type="checkbox" role="switch" id="follow" autocomplete="off" aria-describedby="news" checked> Follow</label> <span id="news"></span></div>`;
}

export function liveProblems({ problems }: Live): Markup {
  if (problems.length === 0) return nothing;
  const lines = problems.slice(0, LISTED).map((problem) => label(problem, 400));
  if (problems.length > LISTED) lines.push(`${problems.length - LISTED} more`);
  const items = lines.map(
    (text) => html`<li class="notable"><span class="sign" aria-hidden="true"></span><bdi>${text}</bdi></li>
`,
  );
  return html`<ul class="warnings problems" aria-label="What could not be read">${items}</ul>`;
}
