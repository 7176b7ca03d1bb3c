// Refuses to pack what would leave its users without the compiled library, or without an addon: npm runs it before pack and publish.
//
//   node scripts/prepack.mjs [folder]
//
// SURPRISAL_WITHOUT names targets that a tarball may lack, such as "darwin-x64,darwin-arm64": for a dry run on one machine.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { root } from "./build/paths.mjs";
import { ARTEFACTS, BUILT } from "./release/artefacts.mjs";

const folder = process.argv[2] ?? root;
const without = (process.env.SURPRISAL_WITHOUT ?? "").split(",").filter((target) => target !== "");
const unknown = without.filter((target) => !ARTEFACTS.some((artefact) => artefact.target === target));
if (unknown.length > 0) {
  console.error(
    `prepack: SURPRISAL_WITHOUT names ${unknown.join(", ")}; targets are ${ARTEFACTS.map(({ target }) => target).join(", ")}`,
  );
  process.exit(2);
}

const needed = [...BUILT, ...ARTEFACTS.filter(({ target }) => !without.includes(target)).map(({ file }) => file)];
const missing = needed.filter((file) => !existsSync(join(folder, file)));
for (const target of without) console.error(`prepack: this tarball is without ${target}`);
if (missing.length > 0) {
  console.error(`prepack: refused, there is no ${missing.join(", no ")}`);
  console.error(
    'prepack: npm run build -- dist wasm makes the library, the workflow "release" the addons of all systems',
  );
  process.exit(1);
}
