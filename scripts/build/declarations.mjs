// The declarations of the entries, joined as the JavaScript is: rollup-plugin-dts over what tsc wrote for each file of lib/.

import { join } from "node:path";
import { rollup } from "rollup";
import { dts } from "rollup-plugin-dts";

/** The names that an entry's JavaScript has: what else its declarations export is a type alone. */
const valuesOf = (code) => {
  const values = new Set();
  for (const [, items] of code.matchAll(/^export \{ (.*) \}/gm))
    for (const item of items.split(", ")) values.add(item.split(" as ").at(-1));
  return values;
};

/**
 * A class exported with `export type` would come out of the joined declarations as a value that no file has. `values`: the names of
 * each entry's JavaScript.
 */
const typesAlone = (values) => ({
  name: "types-alone",
  renderChunk(code, chunk) {
    const known = values.get(chunk.name);
    if (!chunk.isEntry || known === undefined) return null;
    const marked = (item) => (item.startsWith("type ") || known.has(item.split(" as ").at(-1)) ? item : `type ${item}`);
    return code.replace(/^export \{ (.*) \}/gm, (_, items) => `export { ${items.split(", ").map(marked).join(", ")} }`);
  },
});

/** What the files of lib/ ask of TypeScript's own library, for those that need it: joining leaves their directives behind. */
const libraries = {
  name: "libraries",
  renderChunk: (code) =>
    /Symbol\.dispose|Symbol\.asyncDispose|\b(Async)?Disposable\b/.test(code)
      ? `/// <reference lib="esnext.disposable" preserve="true" />\n${code}`
      : null,
};

/**
 * Writes `<entry>.d.ts` into `folder` for each entry of `modules`, its ES modules as Rollup wrote them; `written` is where tsc left a
 * file for each module.
 */
export async function joinDeclarations(written, folder, modules) {
  const values = new Map([...modules].map(([entry, code]) => [entry, valuesOf(code)]));
  const input = Object.fromEntries([...modules.keys()].map((entry) => [entry, join(written, `${entry}.d.ts`)]));
  const joined = await rollup({
    input,
    plugins: [dts(), typesAlone(values), libraries],
    external: /^node:/,
    onwarn({ message }) {
      // Types that no entry exports by a name of their own stay so, as they did in a file for each module.
      if (!message.includes("private shared type exports")) throw new Error(message);
    },
  });
  await joined.write({ dir: folder, format: "es", entryFileNames: "[name].d.ts", chunkFileNames: ({ name }) => `types/${name.replace(/\.d$/, "")}.d.ts` });
}
