// The heading of a column by which the page's script sorts.
import { html, type Markup } from "./markup";

export function heading(title: string, kind: "text" | "number"): Markup {
  return html`<th scope="col" class="${kind}" aria-sort="none"><button type="button" class="sort">${title}<span class="arrow" aria-hidden="true"></span></button></th>`;
}
