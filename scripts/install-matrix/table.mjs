// The table of docs/install.md, of the results.

import { readFileSync, writeFileSync } from "node:fs";
import { at } from "../build/paths.mjs";

const PAGE = at("docs/install.md");
const [BEGIN, END] = ["<!-- results: npm run install-matrix -->\n", "<!-- end of results -->"];
const TITLES = { installing: "installed by", using: "used from", systems: "system" };

function tableOf(title, cases) {
  const cell = (text) => text.replaceAll("|", "\\|").replaceAll("\n", " ");
  const rows = cases.map(({ name, result, note }) => `| ${name} | ${result} | ${cell(note)} |`);
  return [`| ${title} | result | |`, "| --- | --- | --- |", ...rows, ""].join("\n");
}

export function writeTable(results) {
  const { version, node, date, cases } = JSON.parse(readFileSync(results, "utf8"));
  const tables = Object.entries(TITLES).map(([group, title]) => tableOf(title, cases.filter((one) => one.group === group))); // oxfmt-ignore
  const text = [`${version} on linux-x64, Node ${node}, ${date}.\n`, ...tables].join("\n");
  const page = readFileSync(PAGE, "utf8");
  const [from, to] = [page.indexOf(BEGIN) + BEGIN.length, page.indexOf(END)];
  writeFileSync(PAGE, `${page.slice(0, from)}\n${text}\n${page.slice(to)}`);
}
