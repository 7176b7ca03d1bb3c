// build/Release/surprisal.node: the CPU backend and the Node-API binding, by node-gyp.
// configure + build, never rebuild: rebuild deletes the whole folder first.

import { readFileSync } from "node:fs";
import { JOBS, roughly } from "./jobs.mjs";
import { at, filesBelow } from "./paths.mjs";
import { run } from "./run.mjs";
import { fingerprint, isFresh, writeStamp } from "./stamp.mjs";
import { findCxx, findTool, nodeHeaders, versionOf } from "./tools.mjs";

export const name = "addon";

const CORE_SECONDS = 110;

export async function build(_options, say) {
  const cxx = findCxx();
  const missing = [
    ...(cxx ? [] : ["C++17 compiler"]),
    ...["make", "python3"].filter((tool) => !findTool(tool)),
  ];
  if (missing.length > 0) {
    return { state: "skipped", note: `no ${missing.join(", no ")}; the JavaScript backend works without` };
  }

  const output = at("build/Release/surprisal.node");
  const stampFile = at("build/Release/.stamp");
  const inputs = [
    at("binding.gyp"),
    ...["native/include", "native/shared", "native/cpu", "native/binding"].flatMap((folder) =>
      filesBelow(folder, [".h", ".inc", ".cpp", ".cc"]),
    ),
  ];
  const versionOfPackage = (dependency) =>
    `${dependency} ${JSON.parse(readFileSync(at("node_modules", dependency, "package.json"), "utf8")).version}`;
  const versions = [await versionOf(cxx), versionOfPackage("node-gyp"), versionOfPackage("node-addon-api")];
  const print = fingerprint([...versions, process.platform, process.arch], inputs);
  if (isFresh([output], stampFile, print)) return { state: "up to date" };

  say(`compiling the native code of the cpu backend, ${roughly(CORE_SECONDS)}`);
  const headers = nodeHeaders();
  await run("node-gyp", process.execPath, [
    at("node_modules/node-gyp/bin/node-gyp.js"),
    "configure",
    "build",
    "--release",
    `--jobs=${JOBS}`,
    "--loglevel=error",
    ...(headers ? [`--nodedir=${headers}`] : []),
  ]);
  await run("loading the addon", process.execPath, ["-e", `require(${JSON.stringify(output)})`]);
  writeStamp(stampFile, print);
  return { state: "built", note: "build/Release/surprisal.node" };
}
