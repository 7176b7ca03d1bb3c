// What axe-core finds wrong with a page.
import { readFileSync } from "node:fs";
import type { Page } from "../support/chromium/browser";

export interface Violation {
  readonly id: string;
  readonly where: readonly string[];
}

/** Rules about colours and room, which are others on paper; all else is the same document that the screen had. */
export const OF_PAPER = ["color-contrast", "link-in-text-block", "scrollable-region-focusable"] as const;

/** Every rule of axe-core that the page breaks, or of these rules, with the elements that do. */
export async function violationsOf(page: Page, rules?: readonly string[]): Promise<Violation[]> {
  const options = rules === undefined ? "{}" : JSON.stringify({ runOnly: { type: "rule", values: rules } });
  await page.evaluate(`${readFileSync(require.resolve("axe-core/axe.min.js"), "utf8")}; 0`);
  return page.evaluate(
    `axe.run(${options}).then(({ violations }) => violations.map(({ id, nodes }) => ({ id, where: nodes.map(({ html }) => html) })))`,
  );
}

/** As when the page is printed. */
export async function toPaper(page: Page): Promise<void> {
  await page.call("Emulation.setEmulatedMedia", { media: "print" });
  await page.evaluate(`dispatchEvent(new Event("beforeprint"))`);
  await page.drawn();
}
