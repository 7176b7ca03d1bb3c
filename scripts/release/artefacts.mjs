// What a release carries beside dist/: one addon for each platform, by the name under which node-gyp-build finds it.

/**
 * built: by which machine. "workflow" is a runner of that system: the note says why this one cannot stand for it.
 * floor: the newest version of glibc that the addon may ask for.
 */
export const ARTEFACTS = [
  { target: "linux-x64", file: "prebuilds/linux-x64/surprisal.glibc.node", built: "here", floor: "2.17" },
  { target: "linux-x64-musl", file: "prebuilds/linux-x64/surprisal.musl.node", built: "here" },
  { target: "linux-arm64", file: "prebuilds/linux-arm64/surprisal.glibc.node", built: "here", floor: "2.17" },
  { target: "win32-x64", file: "prebuilds/win32-x64/surprisal.node", built: "here" },
  {
    target: "darwin-x64",
    file: "prebuilds/darwin-x64/surprisal.node",
    built: "workflow",
    note: "needs Apple's linker and libraries",
  },
  {
    target: "darwin-arm64",
    file: "prebuilds/darwin-arm64/surprisal.node",
    built: "workflow",
    note: "needs Apple's linker and libraries",
  },
];

/** What a tarball cannot do without, beside the addons. */
export const BUILT = [
  "dist/index.js",
  "dist/index.mjs",
  "dist/index.d.ts",
  "dist/cli/main.js",
  "dist/headers/node-api-headers/node_api.h",
  "build-wasm/surprisal.wasm",
];
