// A row a group, sortable by every column.
import { counted, percent, shortNumber } from "../numbers";
import type { ReportStep } from "../model";
import type { Distribution, GroupSummary, StepSummary } from "../summary";
import { label } from "../visible";
import { whisker } from "./charts";
import { html, type Markup, nothing } from "./markup";
import { heading } from "./sortable";

interface Column {
  readonly title: string;
  /** What the column sorts by. */
  readonly value: (group: GroupSummary) => number | null;
  readonly show: (value: number) => string;
}

const COLUMNS: readonly Column[] = [
  { title: "Rollouts", value: ({ rollouts }) => rollouts.length, show: String },
  { title: "Reward", value: ({ rewardMean }) => rewardMean, show: shortNumber },
  { title: "Std", value: ({ rewardStd }) => rewardStd, show: shortNumber },
  { title: "Length", value: ({ lengthMean }) => lengthMean, show: shortNumber },
  { title: "Entropy", value: ({ entropyMean }) => entropyMean, show: shortNumber },
  { title: "Cut off", value: ({ truncated }) => truncated, show: percent },
  { title: "Clipped", value: ({ clipped }) => clipped, show: percent },
];

function spread({ rewardMin, rewardMean, rewardMax }: GroupSummary, rewards: Distribution): Markup {
  return rewardMin === null || rewardMean === null || rewardMax === null
    ? nothing
    : whisker(rewardMin, rewardMean, rewardMax, rewards);
}

/** A button for each rollout whose tokens are on the page, at most so many. */
const MOST_BUTTONS = 16;

function openers(
  { group, rollouts }: GroupSummary,
  step: ReportStep,
  current: number,
  onPage: ReadonlySet<number> | undefined,
): Markup {
  const offered = rollouts.filter((index) => onPage?.has(index) ?? true).slice(0, MOST_BUTTONS);
  const buttons = offered.map((index) => {
    const { reward } = step.rollouts[index]!;
    const shown = reward === undefined ? "–" : shortNumber(reward);
    const says = `Show rollout ${index + 1} of group ${label(group)}${reward === undefined ? "" : `, reward ${shown}`}`;
    if (!onPage) return html`<a class="open" href="#${current}/${index}" aria-label="${says}">${shown}</a>`;
    return html`<button type="button" class="open" data-rollout="${index}" aria-label="${says}">${shown}</button>`;
  });
  const more = rollouts.length - offered.length;
  return html`${buttons}${more > 0 ? html`<span class="more">${buttons.length > 0 ? `+${more}` : "not kept"}</span>` : nothing}`;
}

/** `onPage`: the rollouts of the step whose tokens can be looked at; undefined where there are only texts, which links lead to. */
export function groupTable(
  step: ReportStep,
  summary: StepSummary,
  current: number,
  maxGroups: number,
  onPage: ReadonlySet<number> | undefined,
): Markup {
  const { groups, distributions } = summary;
  if (groups.length === 0) return nothing;
  const columns = COLUMNS.filter(({ value }) => groups.some((group) => value(group) !== null));
  const rewards = distributions.reward;
  const rows = groups.slice(0, maxGroups).map((group, place) => {
    const cells = columns.map(({ value, show }) => {
      const known = value(group);
      return html`<td class="number" data-value="${known ?? ""}">${known === null ? "–" : show(known)}</td>`;
    });
    const flag = group.equalRewards ? html` <span class="pill">no gradient</span>` : nothing;
    return html`<tr data-place="${place}"><th scope="row" data-value="${label(group.name)}"><bdi>${label(group.name)}</bdi>${flag}</th>${cells}${
      rewards ? html`<td class="picture">${spread(group, rewards)}</td>` : nothing
    }<td class="openers">${openers(group, step, current, onPage)}</td></tr>
`;
  });
  const left = groups.length - rows.length;
  const cap =
    left > 0
      ? html`<p class="cap">The first ${counted(rows.length, "group")} of ${counted(groups.length, "group")}; all of them are in the numbers above.</p>`
      : nothing;
  const range = rewards ? html`<th scope="col" class="text">Reward range</th>` : nothing;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Groups of ${label(summary.label)}"><table class="groups"><caption class="unseen">Groups of ${label(summary.label)}. Buttons in the header sort.</caption>
<thead><tr>${heading("Group", "text")}${columns.map(({ title }) => heading(title, "number"))}${range}<th scope="col" class="text">${onPage ? "Show tokens, by reward" : "Rollouts, by reward"}</th></tr></thead>
<tbody>
${rows}</tbody></table></div>${cap}`;
}
