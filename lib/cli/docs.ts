// surprisal docs: the pages that are in the package.
import { readdirSync, readFileSync } from "node:fs";
import * as path from "node:path";
import { packageRoot } from "../core/package-root";
import { SurprisalError } from "../core/errors";
import { closest } from "../core/closest";
import type { Command } from "./shell/command";

interface Page {
  /** Path below docs without the ending: "ops/scan". */
  readonly page: string;
  readonly file: string;
}

function allPages(): readonly Page[] {
  const folder = path.join(packageRoot(), "docs");
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => ({ page: name.slice(0, -3).split(path.sep).join("/"), file: path.join(folder, name) }))
    .sort((a, b) => (a.page < b.page ? -1 : 1));
}

const titleOf = (file: string): string => /^# (.*)$/m.exec(readFileSync(file, "utf8"))?.[1] ?? "";

/** By its path, or by its last part where only one page ends in it. */
function findPage(name: string, pages: readonly Page[]): Page {
  const asked = name.replace(/^docs\//, "").replace(/\.md$/, "");
  const found =
    pages.find(({ page }) => page === asked) ?? pages.filter(({ page }) => page.split("/").at(-1) === asked)[0];
  if (found) return found;
  const near = closest(
    asked,
    pages.flatMap(({ page }) => [page, page.split("/").at(-1)!]),
  );
  const hint = near === undefined ? "" : `; did you mean "${near}"?`;
  throw new SurprisalError("ERR_SURPRISAL_OPTION", `there is no page "${name}"; surprisal docs lists them${hint}`, {
    op: "docs",
    name: "page",
    got: name,
  });
}

export const docs: Command = {
  name: "docs",
  usage: "[page]",
  summary: "list the pages of documentation in this package, or print one",
  about: `Lists the pages of documentation that are in this package, or prints one: by its path below docs, or by its last part.`,
  options: { path: { text: "print where the page lies" } },
  examples: ["surprisal docs", "surprisal docs grpo", "surprisal docs ops/logprob --path"],
  files: { least: 0, most: 1, what: "page" },
  run({ args }) {
    const pages = allPages();
    const [name] = args.files;
    if (name === undefined) {
      const titled = pages.map(({ page, file }) => ({ page, file, title: titleOf(file) }));
      const width = Math.max(...pages.map(({ page }) => page.length));
      const list = titled.map(({ page, title }) => `${page.padEnd(width)}  ${title}`).join("\n");
      return Promise.resolve({ json: { pages: titled }, text: `${list}\n` });
    }
    const { page, file } = findPage(name, pages);
    const text = readFileSync(file, "utf8");
    return Promise.resolve({ json: { page, file, text }, text: args.has("path") ? `${file}\n` : text });
  },
};
