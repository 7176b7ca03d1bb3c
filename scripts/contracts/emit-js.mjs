// lib/backend/js/ops.ts: the ops of the JavaScript backend, of a file for each family.
import { camelCase, familiesOf } from "./names.mjs";

export function jsFile({ ops }, heading) {
  const families = familiesOf(ops).map((family) => ({ file: family, name: `${camelCase(family)}Ops` }));
  return `// ${heading("native/include/surprisal")}
import type { BackendOps } from "../contract/ops";
${families.map(({ file, name }) => `import { ${name} } from "./${file}";`).join("\n")}

export const jsOps: BackendOps = { ${families.map(({ name }) => `...${name}`).join(", ")} };
`;
}
