// dist/main.js: everything that the main entry can reach, as one file, since opening 280 takes ten times as long as running them.
//
// tsc's modules stand in it one behind the other, without comments, each a function in a table; a module runs when it is first
// asked for, and once. Where it was, a line asks for it, so that the other entries reach the very same ones. The entry itself
// becomes a list of names that ask when they are first looked at.

import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, posix } from "node:path";
import ts from "typescript";
import { objectSpreadAsAssign } from "./object-spread.mjs";

const BUNDLE = "main";
const RELATIVE_REQUIRE = /\brequire\("(\.[^"]*)"\)/g;

const read = (folder, id) => readFileSync(join(folder, `${id}.js`), "utf8");

/** What a module requires, by the path from `folder`; a folder's name means its index. */
function resolve(folder, from, request) {
  const id = posix.join(posix.dirname(from), request);
  try {
    read(folder, id);
    return id;
  } catch {
    return `${id}/index`;
  }
}

/** The modules that `entry` loads when it is loaded, in no particular order. */
function graphOf(folder, entry) {
  const texts = new Map();
  const visit = (id) => {
    if (texts.has(id)) return;
    const text = read(folder, id);
    texts.set(id, text);
    for (const [, request] of topLevel(text).matchAll(RELATIVE_REQUIRE)) visit(resolve(folder, id, request));
  };
  visit(entry);
  return texts;
}

/** tsc writes what runs at once without indentation. */
const topLevel = (text) => text.split("\n").filter((line) => !/^\s/.test(line)).join("\n");

/** Comments are what the declarations carry; here they only cost time, as object spread does. */
function lowered(text) {
  const compilerOptions = { removeComments: true, allowJs: true, target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.CommonJS };
  return ts.transpileModule(text, { fileName: "module.js", compilerOptions, transformers: { before: [objectSpreadAsAssign] } }).outputText;
}

function moduleText(folder, id, text, texts) {
  const body = lowered(text).replace(RELATIVE_REQUIRE, (_, request) => {
    const target = resolve(folder, id, request);
    return texts.has(target) ? `$load("${target}")` : `require("./${target}.js")`;
  });
  return `"${id}": function (exports, __filename, __dirname) {\n${body.trimEnd()}\n},\n`;
}

/** The entry: its names by the module that each is from. */
function entryText(folder, id, text, load) {
  const values = load(join(folder, `${id}.js`));
  const found = new Set();
  const lines = [...text.matchAll(RELATIVE_REQUIRE)].map(([, request]) => {
    const from = resolve(folder, id, request);
    const source = load(join(folder, `${from}.js`));
    const names = namesOf(source).filter((name) => !found.has(name) && name in values && values[name] === source[name]);
    for (const name of names) found.add(name);
    return names.length === 0 ? "" : `$names(exports, "${from}", ${JSON.stringify(names)});\n`;
  });
  const lost = namesOf(values).filter((name) => !found.has(name));
  if (lost.length > 0) throw new Error(`${id}: no module it requires has ${lost.join(", ")}`);
  return `"${id}": function (exports) {\nObject.defineProperty(exports, "__esModule", { value: true });\n${lines.join("")}},\n`;
}

const namesOf = (exports) => Object.keys(exports).filter((name) => name !== "__esModule");

/** Names where Node looks for those that an ES module may import: in the text, without running it. */
function hintOf(names) {
  return names.length === 0 ? "" : `0 && (module.exports = { ${names.join(", ")} });\n`;
}

function requestOf(id) {
  const up = posix.relative(posix.dirname(id), ".");
  return `${up === "" ? "." : up}/${BUNDLE}.js`;
}

/** Puts what `entry` loads into dist/main.js, and a line where each of it was. */
export function writeMainBundle(folder, entry) {
  const texts = graphOf(folder, entry);
  const load = createRequire(join(folder, "main.cjs"));
  const names = new Map([...texts.keys()].map((id) => [id, namesOf(load(join(folder, `${id}.js`)))]));
  const head = `"use strict";
// Made by scripts/build/main-bundle.mjs: the modules of the main entry, each under its path in lib/.
const { dirname, join } = require("node:path");
const loaded = new Map();
function $load(id) {
  let exports = loaded.get(id);
  if (exports === undefined) {
    loaded.set(id, (exports = {}));
    const file = join(__dirname, id + ".js");
    modules[id].call(exports, exports, file, dirname(file));
  }
  return exports;
}
function $names(exports, id, names) {
  for (const name of names)
    Object.defineProperty(exports, name, {
      enumerable: true,
      configurable: true,
      get() {
        const value = $load(id)[name];
        Object.defineProperty(exports, name, { enumerable: true, value });
        return value;
      },
    });
}
exports.load = $load;
const modules = {
`;
  const body = [...texts].map(([id, text]) => (id === entry ? entryText(folder, id, text, load) : moduleText(folder, id, text, texts))).join("");
  writeFileSync(join(folder, `${BUNDLE}.js`), `${head}${body}};\n`);
  for (const id of texts.keys())
    writeFileSync(join(folder, `${id}.js`), `"use strict";\nmodule.exports = require("${requestOf(id)}").load("${id}");\n${hintOf(names.get(id))}`);
}
