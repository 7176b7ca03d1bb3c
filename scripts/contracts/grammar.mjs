// C as tree-sitter parses it.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { Language, Parser } from "web-tree-sitter";
import { Refusal } from "./refusal.mjs";

const require = createRequire(import.meta.url);

await Parser.init();
const parser = new Parser();
parser.setLanguage(await Language.load(readFileSync(require.resolve("tree-sitter-c/tree-sitter-c.wasm"))));

/** The root of the parsed text. `at` says where its first line stands. */
export function parse(text, at) {
  const { rootNode } = parser.parse(text);
  const broken = firstBroken(rootNode);
  if (!broken) return rootNode;
  const line = at.line + broken.startPosition.row;
  throw new Refusal({ file: at.file, line }, `\`${broken.text.split("\n", 1)[0].slice(0, 60)}\` does not parse`, "C");
}

function firstBroken(node) {
  if (!node.hasError) return undefined;
  if (node.isError || node.isMissing) return node;
  for (const child of node.children) {
    const broken = firstBroken(child);
    if (broken) return broken;
  }
  return node;
}
