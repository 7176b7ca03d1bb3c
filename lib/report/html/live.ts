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

/** One of the pages that a server has, where there are several runs. */
interface LivePage {
  readonly name: string;
  readonly path: string;
}

export interface Live extends LiveState {
  /** Files that could not be read, with why. */
  readonly problems: readonly string[];
  /** The pages of a server of several runs: the comparison, then a page a run. */
  readonly pages?: readonly LivePage[];
  /** Path of this page among them. */
  readonly current?: string;
}

/** Links to the pages of the runs, and to their comparison. */
export function livePages({ pages = [], current }: Live): Markup {
  if (pages.length === 0) return nothing;
  const links = pages.map(({ name, path }) => {
    const here = path === current ? html` aria-current="page"` : nothing;
    return html`<li><a href="${path}"${here}><bdi>${label(name, 40)}</bdi></a></li>`;
  });
  return html`<nav class="pages" aria-label="Pages"><ul>${links}</ul></nav>`;
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
