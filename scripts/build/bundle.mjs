// lib/ as JavaScript and as declarations, by Rollup: a file for each entry, and chunks for what several of them share. Few files open
// and install much faster than one for each module.
//
//   CommonJS     what Node loads
//   ES modules   what other bundlers take apart: pure.mjs tells them that they may leave out every constant that nobody asks for
//   for browsers the same again in dist/browser: x.browser.ts takes the place of x.ts, and what is left of Node fails where it is called
//   declarations declarations.mjs

import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { rollup } from "rollup";
import { transformSync } from "@swc/core";
import { at } from "./paths.mjs";
import { lazyRequires } from "./lazy.mjs";
import { pureConstants } from "./pure.mjs";

// Object.assign instead of object spread: on Node 20 `{ ...a, x }` of a dozen properties takes 4 µs, and Object.assign({}, a, { x })
// 0.2 µs. They differ for setters and for a property `__proto__` of a source, which no object here has. swc takes the functions
// from its helpers; these do the same for plain objects.
const HELPERS = {
  "@swc/helpers/_/_extends": "export const _ = Object.assign;",
  "@swc/helpers/_/_object_without_properties": `export function _(source, names) {
    const rest = {};
    for (const name of Object.keys(source)) if (!names.includes(name)) rest[name] = source[name];
    return rest;
  }`,
};

const SWC = {
  swcrc: false,
  env: { targets: { node: "20.12" }, include: ["transform-object-rest-spread"] },
  jsc: {
    parser: { syntax: "typescript" },
    externalHelpers: true,
    assumptions: { setSpreadProperties: true, pureGetters: true },
    preserveAllComments: false,
    minify: { format: { comments: false } }, // the declarations carry them
  },
  module: { type: "es6" },
};

const typescript = {
  name: "typescript",
  resolveId(request, importer) {
    if (request in HELPERS) return request;
    if (importer === undefined) return at("lib", `${request}.ts`);
    if (!request.startsWith(".")) return { id: request, external: true };
    const path = resolve(dirname(importer), request);
    return [`${path}.ts`, `${path}/index.ts`].find((file) => existsSync(file));
  },
  load: (id) => HELPERS[id] ?? null,
  transform: (text, id) => (id in HELPERS ? null : { code: transformSync(text, { ...SWC, filename: id }).code, map: null }),
  resolveImportMeta: (property, { format }) => (format === "cjs" && property === "filename" ? "__filename" : null),
};

const forBrowsers = {
  name: "for-browsers",
  async resolveId(request, importer) {
    if (/^node:|^node-gyp-build$/.test(request)) return `\0${request}`;
    const found = importer === undefined ? undefined : await this.resolve(request, importer, { skipSelf: true });
    const own = found?.id.replace(/\.ts$/, ".browser.ts");
    return own !== undefined && own !== found.id && existsSync(own) ? own : null;
  },
  load: (id) => (id.startsWith("\0node") ? missingModule(id.slice(1)) : null),
};

/** A module of Node every function of which throws. */
const missingModule = (name) => ({
  code: `export const missing = new Proxy({}, {
    get: (_, member) => function () { throw new Error("${name}: " + String(member) + " is not in a browser"); },
  });`,
  syntheticNamedExports: "missing",
});

/** The file in which Node finds a module of lib/ that is no input: what is of use without the rest has one of its own. */
function chunkOf(id, inputs) {
  const [, path] = /\/lib\/(.*)\.ts$/.exec(id) ?? [];
  if (inputs.has(path)) return undefined;
  if (path === "backend/contract/ops") return "part-hand-over"; // long, and of native code alone
  if (path === undefined || /^(core|backend|backend\/contract)\/[^/]+$/.test(path)) return "part-core";
  const [part] =
    /^backend\/js\/(?!index|ops|exp|live|log-|logit|pieces|top)[a-z]+|^(ops|backend|loss|advantage)(\/[^/]+)?(?=\/)|^(control|device|presets)(?=\/)/.exec(path) ?? [];
  return part && `part-${part.replaceAll("/", "-")}`;
}

// Files that require each other do so when they run (lazy.mjs).
const refuseWarnings = ({ code, message }) => {
  if (code !== "CIRCULAR_CHUNK") throw new Error(message);
};

/**
 * Writes the entries, named by their path in lib/ without the ending: `entries` in both formats, `programs` as CommonJS, `browser`
 * for browsers.
 */
export async function writeBundles(folder, { entries, programs, browser }) {
  const options = { plugins: [typescript], treeshake: { moduleSideEffects: false }, onwarn: refuseWarnings };
  const inputOf = (names) => Object.fromEntries(names.map((name) => [name, name]));
  const shared = { dir: folder, generatedCode: "es2015", interop: "esModule" };

  const loaded = [...entries, ...programs];
  const forNode = await rollup({ ...options, input: inputOf(loaded) });
  await forNode.write({
    ...shared,
    format: "cjs",
    hoistTransitiveImports: false,
    entryFileNames: "[name].js",
    chunkFileNames: "chunks/[name].js",
    manualChunks: (id) => chunkOf(id, new Set(loaded)),
    plugins: [lazyRequires(programs)],
  });

  const forBundlers = await rollup({ ...options, input: inputOf(entries), cache: forNode.cache });
  const modules = {
    format: "es",
    hoistTransitiveImports: false, // an import for its speed alone is one that bundlers warn of
    entryFileNames: "[name].mjs",
    chunkFileNames: "chunks/[name].mjs",
    plugins: [pureConstants],
  };
  await forBundlers.write({ ...shared, ...modules });

  const plugins = [forBrowsers, typescript];
  const inBrowsers = await rollup({ ...options, plugins, input: inputOf(browser) });
  await inBrowsers.write({ ...shared, dir: `${folder}/browser`, ...modules });
}
