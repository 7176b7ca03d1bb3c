// lib/backend/js/ops.ts: the ops of the JavaScript backend, of a file for each family.
import { camelCase, familiesOf } from "./names.mjs";

export function jsFile({ ops }, heading) {
  const families = familiesOf(ops).map((family) => ({ file: family, name: `${camelCase(family)}Ops` }));
  const calls = ops.map(
    ({ name, family }) => `${camelCase(name)}: (args) => ${camelCase(family)}Ops.${camelCase(name)}(args),`,
  );
  return `// ${heading("native/include/surprisal")}
import type { BackendOps } from "../contract/ops";
${families.map(({ file, name }) => `import { ${name} } from "./${file}";`).join("\n")}

/** Each by a call: a family may lie in a file that is loaded then. */
export const jsOps: BackendOps = {
${calls.join("\n")}
};
`;
}
