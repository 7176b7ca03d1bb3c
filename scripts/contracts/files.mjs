// Everything that is made of the headers: path and text of each file.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import * as prettier from "prettier";
import { at } from "../build/paths.mjs";
import { bindingSource } from "./emit-binding.mjs";
import { jsonFile } from "./emit-json.mjs";
import { opsFile } from "./emit-ops.mjs";
import { typeFiles } from "./emit-types.mjs";
import { readContracts } from "./model.mjs";

export const HEADERS = "native/include/surprisal";

export function contracts() {
  const names = readdirSync(at(HEADERS))
    .filter((name) => name.endsWith(".h"))
    .sort();
  return readContracts(
    names.map((name) => ({ file: `${HEADERS}/${name}`, text: readFileSync(at(HEADERS, name), "utf8") })),
  );
}

/** [path from the root, text] of every generated file. */
export async function contractFiles() {
  const model = contracts();
  const hash = hashOf(model);
  const heading = (source) => `Generated from ${source} by scripts/contracts.mjs: \`npm run contracts\` renews it.`;
  const typescript = [
    ...typeFiles(model, heading).map(({ family, text }) => [`lib/backend/contract/${family}.ts`, text]),
    ["lib/backend/contract/ops.ts", opsFile(model, hash, heading)],
  ];
  const settings = await prettier.resolveConfig(at("package.json"));
  const laidOut = await Promise.all(
    typescript.map(async ([path, text]) => [path, await prettier.format(text, { ...settings, parser: "typescript" })]),
  );
  return [
    ...laidOut,
    ["native/binding/contracts.cc", bindingSource(model, hash, heading)],
    ["bench/gpu/python/contracts.json", jsonFile(model)],
  ];
}

/** Of all that the addon and lib/ have to agree on; comments are not in it. */
function hashOf({ version, ops }) {
  const seen = ops.map(({ name, dtypes, numbers, arrays, rows }) => [
    name,
    dtypes,
    numbers.map(({ path, type }) => [path, type]),
    arrays.map(({ name: array, type, output, wide, extents, sameMemoryAs }) => [
      array,
      type,
      output,
      wide,
      extents,
      sameMemoryAs,
    ]),
    rows,
  ]);
  return createHash("sha256")
    .update(JSON.stringify([version, seen]))
    .digest("hex")
    .slice(0, 16);
}
