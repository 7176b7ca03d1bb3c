// What the page carries in itself: style, script and data, and the policy that lets nothing else in.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { builtFile } from "../../core/package-root";
import { html, Markup } from "./markup";

/** In the order in which they build on each other. */
export const STYLES = ["frame.css", "charts.css", "curves.css", "tokens.css", "texts.css", "media.css"] as const;
export const SCRIPTS = [
  "elements.js",
  "data.js",
  "steps.js",
  "table.js",
  "rows.js",
  "ribbon.js",
  "inspector.js",
  "tokens.js",
  "texts.js",
  "start.js",
] as const;

/** What a page has besides that follows a run. */
export const LIVE_STYLE = "follow.css";
export const LIVE_SCRIPT = "follow.js";

const styleOf = (live: boolean): string => read(live ? [...STYLES, LIVE_STYLE] : STYLES);
const scriptOf = (live: boolean): string =>
  `(() => {\n"use strict";\n${read(live ? [...SCRIPTS, LIVE_SCRIPT] : SCRIPTS)}\n})();\n`;

const read = (names: readonly string[]): string =>
  names.map((name) => readFileSync(builtFile("report", "page", name), "utf8").replaceAll("\r\n", "\n")).join("\n");

const hashOf = (text: string): string => `'sha256-${createHash("sha256").update(text, "utf8").digest("base64")}'`;

const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect width='16' height='16' rx='4' fill='%236a4be0'/%3E%3Cpath d='M3 12V9m3.3 3V4m3.4 8V7m3.3 5v-2' stroke='%23fff' stroke-width='1.8' stroke-linecap='round'/%3E%3C/svg%3E";

/**
 * Head of the page: nothing is loaded, only this very script and style run, and no text can become markup. A live page may ask the
 * server that it came from.
 */
export function embeddedHead(live: boolean): Markup {
  const style = styleOf(live);
  const policy = [
    "default-src 'none'",
    `connect-src ${live ? "'self'" : "'none'"}`,
    `script-src ${hashOf(scriptOf(live))}`,
    `style-src ${hashOf(style)}`,
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; ");
  return html`<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="${new Markup(ICON)}">
<style>${new Markup(style)}</style>`;
}

export const embeddedScript = (live: boolean): Markup => html`<script>${new Markup(scriptOf(live))}</script>`;

/** Characters that end a script element, open a comment in it, or show another order in an editor than they have. */
const UNSAFE = /[<>&\u2028\u2029\p{Cf}\p{Co}\p{Cn}]/gu;

const escaped = (character: string): string =>
  Array.from(
    { length: character.length },
    (_, i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, "0")}`,
  ).join("");

/** Data for the script, as JSON that no HTML parser can leave. */
export function embeddedData(id: string, data: unknown): Markup {
  const json = JSON.stringify(data).replace(UNSAFE, escaped);
  return html`<script type="application/json" id="${id}">${new Markup(json)}</script>`;
}
