// Everything that is made of the headers: path and text of each file.
import { readdirSync, readFileSync } from "node:fs";
import { at } from "../build/paths.mjs";
import { laidOut } from "../layout.mjs";
import { bindingSource } from "./emit-binding.mjs";
import { withFormTable } from "./emit-forms.mjs";
import { opsHeader } from "./emit-header.mjs";
import { jsFile } from "./emit-js.mjs";
import { jsonFile } from "./emit-json.mjs";
import { namesFile, opsFile } from "./emit-ops.mjs";
import { spelledItems, typeFiles } from "./emit-types.mjs";
import { isOfForms } from "./forms.mjs";
import { hashOf } from "./hash.mjs";
import { readContracts } from "./model.mjs";

const HEADERS = "native/include/surprisal";

/** Generated, and so no source. */
const OPS = `${HEADERS}/ops.h`;

const headers = () =>
  readdirSync(at(HEADERS))
    .filter((name) => name.endsWith(".h"))
    .sort()
    .map((name) => `${HEADERS}/${name}`)
    .filter((file) => file !== OPS)
    .map((file) => ({ file, text: readFileSync(at(file), "utf8") }));

/** [path from the root, text] of every generated file. */
export async function contractFiles() {
  const sources = headers();
  const model = readContracts(sources);
  const hash = hashOf(sources, model);
  const heading = (source) => `Generated from ${source} by scripts/contracts.mjs: \`npm run contracts\` renews it.`;
  const typescript = [
    ...typeFiles(model, heading).map(({ family, text }) => [`lib/backend/contract/${family}.ts`, text]),
    ["lib/backend/contract/names.ts", namesFile(model, hash, heading)],
    ["lib/backend/contract/ops.ts", opsFile(model, heading)],
    ["lib/backend/js/ops.ts", jsFile(model, heading)],
  ];
  const formatted = await Promise.all(typescript.map(async ([path, text]) => [path, await laidOut(path, text)]));
  return [
    ...formatted,
    ...formPages(model),
    [OPS, opsHeader(model, hash, heading)],
    ["native/binding/contracts.cc", bindingSource(model, hash, heading)],
    ["bench/gpu/python/contracts.json", jsonFile(model, hash)],
  ];
}

/** The pages of families that have forms, with the tables of these. */
function formPages(model) {
  const pages = new Map();
  for (const choice of model.enums.filter(isOfForms)) {
    const path = `docs/ops/${/(\w+)\.h$/.exec(choice.file)[1]}.md`;
    const page = pages.get(path) ?? readFileSync(at(path), "utf8");
    pages.set(path, withFormTable(path, page, choice, spelledItems(choice)));
  }
  return [...pages];
}
