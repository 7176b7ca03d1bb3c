// surprisal-cuda: the CUDA backend as a package of its own, which surprisal finds when it is installed beside it.

import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { at } from "../build/paths.mjs";
import { run } from "../build/run.mjs";

const LIBRARY = "libsurprisal_cuda.so";

const README = (version) => `# surprisal-cuda

The CUDA backend of [surprisal](https://www.npmjs.com/package/surprisal): one library, no code. Install it beside surprisal ${version} on
linux-x64 with an NVIDIA driver; \`backend: "cuda"\` finds it, \`npx surprisal doctor\` says what it found. There is nothing to import.
`;

/** Packs what lies in build-cuda/ into `folder`. The tarball's path, or undefined where there is no library. */
export async function packCuda(folder) {
  const library = at("build-cuda", LIBRARY);
  if (!existsSync(library)) return undefined;
  const { version, license, homepage, repository } = JSON.parse(readFileSync(at("package.json"), "utf8"));
  const made = join(folder, "surprisal-cuda");
  rmSync(made, { recursive: true, force: true });
  mkdirSync(made, { recursive: true });
  const manifest = {
    name: "surprisal-cuda",
    version,
    description: "The CUDA backend of surprisal, for linux-x64",
    license,
    homepage,
    repository,
    os: ["linux"],
    cpu: ["x64"],
    libc: ["glibc"],
    files: [LIBRARY],
    // A library cannot be loaded from an archive.
    preferUnplugged: true,
    peerDependencies: { surprisal: version },
  };
  writeFileSync(join(made, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  writeFileSync(join(made, "README.md"), README(version));
  copyFileSync(at("LICENSE"), join(made, "LICENSE"));
  copyFileSync(library, join(made, LIBRARY));
  await run("strip", "strip", [join(made, LIBRARY)]);
  const { stdout } = await run("npm pack", "npm", ["pack", "--json", "--pack-destination", folder], { cwd: made });
  return join(folder, JSON.parse(stdout)[0].filename);
}
