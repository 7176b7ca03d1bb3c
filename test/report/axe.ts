// What axe-core finds wrong with a page.
import { readFileSync } from "node:fs";
import type { Page } from "../support/chromium/browser";

export interface Violation {
  readonly id: string;
  readonly where: readonly string[];
}

/** Every rule of axe-core that the page breaks, with the elements that do. */
export async function violationsOf(page: Page): Promise<Violation[]> {
  await page.evaluate(`${readFileSync(require.resolve("axe-core/axe.min.js"), "utf8")}; 0`);
  return page.evaluate(
    `axe.run().then(({ violations }) => violations.map(({ id, nodes }) => ({ id, where: nodes.map(({ html }) => html) })))`,
  );
}

/** As when the page is printed. */
export async function toPaper(page: Page): Promise<void> {
  await page.call("Emulation.setEmulatedMedia", { media: "print" });
  await page.evaluate(`dispatchEvent(new Event("beforeprint"))`);
  await page.drawn();
}
