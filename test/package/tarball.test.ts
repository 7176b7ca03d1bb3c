// The package as its users get it: what is in it, and whether it works with nothing else around.

import { readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { installedPackages, installTarball, type Consumer } from "./consumer";

const MIB = 1024 * 1024;

let consumer: Consumer;

beforeAll(() => {
  consumer = installTarball();
});

afterAll(() => {
  consumer.remove();
});

const listed = (pattern: RegExp): string[] => consumer.files.filter((path) => pattern.test(path));

test("the tarball holds the compiled library in both module formats, and its types", () => {
  expect(consumer.files).toEqual(
    expect.arrayContaining([
      "dist/index.js",
      "dist/index.d.ts",
      "dist/index.mjs",
      "dist/cli/main.js",
      "package.json",
      "README.md",
      "LICENSE",
    ]),
  );
});

test("the tarball holds what a build from source needs", () => {
  expect(listed(/^dist\/headers\//)).toEqual([
    "dist/headers/node-addon-api/LICENSE.md",
    "dist/headers/node-addon-api/napi-inl.deprecated.h",
    "dist/headers/node-addon-api/napi-inl.h",
    "dist/headers/node-addon-api/napi.h",
    "dist/headers/node-api-headers/LICENSE",
    "dist/headers/node-api-headers/js_native_api.h",
    "dist/headers/node-api-headers/js_native_api_types.h",
    "dist/headers/node-api-headers/node_api.def",
    "dist/headers/node-api-headers/node_api.h",
    "dist/headers/node-api-headers/node_api_types.h",
  ]);
  expect(consumer.files).toContain("CMakeLists.txt");
  expect(listed(/^native\/include\/surprisal\/.*\.h$/).length).toBeGreaterThan(0);
  expect(listed(/^native\/cpu\/.*\.cpp$/).length).toBeGreaterThan(0);
  expect(listed(/^native\/cuda\/.*\.cu$/).length).toBeGreaterThan(0);
  expect(listed(/^native\/binding\/.*\.cc$/).length).toBeGreaterThan(0);
});

test("the tarball holds nothing that npm would run or compile, and nothing else", () => {
  expect(listed(/\.gyp$/)).toEqual([]);
  const places =
    /^(dist|native|prebuilds)\/|^docs\/.*\.(md|svg)$|^(schema\/rollout\.schema\.json|build-wasm\/surprisal\.wasm|CMakeLists\.txt|package\.json|LICENSE|(README|CHANGELOG|CONTRIBUTING|SECURITY|examples\/README)\.md)$/;
  expect(consumer.files.filter((path) => !places.test(path))).toEqual([]);
  // The styles of the report are put into its page; the headers are for a build from source.
  expect(listed(/^dist\/(?!report\/page\/\w+\.css$|headers\/).*(?<!\.js|\.mjs|\.d\.ts)$/)).toEqual([]);
  expect(listed(/^prebuilds\/(?!.*\.(node|so)$)/)).toEqual([]);
  const manifest = JSON.parse(readFileSync(join(consumer.folder, "node_modules/surprisal/package.json"), "utf8")) as {
    scripts: Record<string, string>;
    gypfile: boolean;
  };
  expect(manifest.gypfile).toBe(false);
  for (const name of ["preinstall", "install", "postinstall", "prepare"]) {
    expect(manifest.scripts).not.toHaveProperty(name);
  }
});

test("the links of README, its image aside, and those from page to page lead to files of the tarball", () => {
  const installed = join(consumer.folder, "node_modules/surprisal");
  const pages = ["README.md", "SECURITY.md", ...listed(/^docs\/.*\.md$/)];
  const broken = pages.flatMap((page) => {
    const text = readFileSync(join(installed, page), "utf8");
    return [...text.matchAll(/\]\(([^)#:]+\.md)/g)]
      .map(([, target]) => posix.join(posix.dirname(page), target!))
      .filter((target) => !consumer.files.includes(target))
      .map((target) => `${page}: ${target}`);
  });
  expect(broken).toEqual([]);
});

test("the tarball is at most 10 MiB", () => {
  expect(consumer.bytes).toBeLessThanOrEqual(10 * MIB);
});

test("the library is a file for each entry and what they share, not one for each module", () => {
  expect(listed(/^dist\/(?!headers|report\/page)/).length).toBeLessThanOrEqual(100);
});

test("installing it brings one other package", () => {
  expect(installedPackages(consumer.folder).sort()).toEqual(["node-gyp-build", "surprisal"]);
});

const NUMBER = `
const { advantages } = surprisal.gae(new Float32Array([0, 0, 1]), new Float32Array(3), {
  shape: [1, 3], gamma: 1, lambda: 1, backend: "js",
});
console.log(Array.from(advantages).join());
`;

test("required from CommonJS it computes", () => {
  expect(consumer.run("number.cjs", `const surprisal = require("surprisal");${NUMBER}`)).toBe("1,1,1\n");
});

test("imported from an ES module it computes", () => {
  expect(consumer.run("number.mjs", `import * as surprisal from "surprisal";${NUMBER}`)).toBe("1,1,1\n");
});

test("import and require give the same functions under the same names", () => {
  const program = `
import * as imported from "surprisal";
import { createRequire } from "node:module";
const required = createRequire(import.meta.url)("surprisal");
// Node adds the whole module under these two.
const names = Object.keys(imported).filter((name) => name !== "default" && name !== "module.exports").sort();
const same = names.every((name) => imported[name] === required[name]);
console.log(JSON.stringify({ names, same, required: Object.keys(required).sort() }));
`;
  const output = consumer.run("same.mjs", program);
  const result = JSON.parse(output) as { names: string[]; same: boolean; required: string[] };
  expect(result.same).toBe(true);
  expect(result.names).toEqual(result.required);
});

test("surprisal/collective is an entry of its own in both formats, which the main entry does not load", () => {
  const required = `
require("surprisal");
const loaded = () => Object.keys(require.cache).some((path) => /dist.collective/.test(path));
const before = loaded();
const { openCollective } = require("surprisal/collective");
console.log(before, loaded(), openCollective("single").size);
`;
  expect(consumer.run("collective.cjs", required)).toBe("false true 1\n");
  const imported = `
import { createCollective, openCollective } from "surprisal/collective";
import { createRequire } from "node:module";
const [handle] = createCollective(1);
console.log(openCollective("workers", { handle }).allReduce(Float64Array.of(3), "sum")[0]);
console.log(createRequire(import.meta.url)("surprisal/collective").createCollective === createCollective);
`;
  expect(consumer.run("collective.mjs", imported)).toBe("3\ntrue\n");
});

test("surprisal/io is an entry of its own, works without Parquet and says what Parquet needs; the schema is beside it", () => {
  const program = `
require("surprisal");
const loaded = () => Object.keys(require.cache).some((path) => /dist.io/.test(path));
const before = loaded();
const { readAllRollouts, writeRollouts } = require("surprisal/io");
readAllRollouts(Buffer.from('{"text":"a","reward":1}'))
  .then(({ rollouts }) => writeRollouts("out.parquet", rollouts))
  .catch((error) => console.log(before, loaded(), error.code, /npm install hyparquet-writer/.test(error.message)));
`;
  expect(consumer.run("io.cjs", program)).toBe("false true ERR_SURPRISAL_OPTION true\n");
  const imported = `
import { JSON_NAMES, readRollouts } from "surprisal/io";
import { createRequire } from "node:module";
const require = createRequire(import.meta.url);
const { properties } = require("surprisal/rollout.schema.json");
console.log(require("surprisal/io").readRollouts === readRollouts, JSON_NAMES.samplerLogProbs in properties);
`;
  expect(consumer.run("io.mjs", imported)).toBe("true true\n");
});

test("surprisal/reward is an entry of its own in both formats, and names the package that is missing", () => {
  const required = `
const { codeReward, finalAnswer } = require("surprisal/reward");
const io = [{ input: "", output: "" }];
codeReward(["1"], { io }).catch((error) => console.log(finalAnswer("#### 7"), error.code, error.details.name));
`;
  expect(consumer.run("reward.cjs", required)).toBe("7 ERR_SURPRISAL_PEER_MISSING pyodide\n");
  const imported = `
import { mathReward } from "surprisal/reward";
import { createRequire } from "node:module";
console.log((await mathReward(["#### 7"], [7]))[0].reward);
console.log(createRequire(import.meta.url)("surprisal/reward").mathReward === mathReward);
`;
  expect(consumer.run("reward.mjs", imported)).toBe("1\ntrue\n");
});

test("surprisal/experience is an entry of its own in both formats, which the main entry does not load", () => {
  const required = `
require("surprisal");
const loaded = () => Object.keys(require.cache).some((path) => /dist.experience/.test(path));
const before = loaded();
const { positionIds } = require("surprisal/experience");
console.log(before, loaded(), positionIds([1, 1, 2]).join());
`;
  expect(consumer.run("experience.cjs", required)).toBe("false true 0,1,0\n");
  const imported = `
import { ExperienceMaker } from "surprisal/experience";
import { createRequire } from "node:module";
console.log(createRequire(import.meta.url)("surprisal/experience").ExperienceMaker === ExperienceMaker);
`;
  expect(consumer.run("experience.mjs", imported)).toBe("true\n");
});

test("surprisal/report is an entry of its own in both formats, with the style and script of its page", () => {
  const required = `
require("surprisal");
const loaded = () => Object.keys(require.cache).some((path) => /dist.report/.test(path));
const before = loaded();
const { renderHtml } = require("surprisal/report");
const page = renderHtml({ steps: [{ label: "one", rollouts: [{ group: 1, reward: 1 }] }] });
console.log(before, loaded(), /class TokenView/.test(page), /--h9:/.test(page));
`;
  expect(consumer.run("report.cjs", required)).toBe("false true true true\n");
  const imported = `
import { renderTerminal, summarize } from "surprisal/report";
console.log(renderTerminal(summarize([])).trim());
`;
  expect(consumer.run("report.mjs", imported)).toBe("no rollouts\n");
});

test("loading it prints nothing and opens no native code", () => {
  const program = `
require("surprisal");
const native = Object.keys(require.cache).filter((path) => path.endsWith(".node"));
console.log(JSON.stringify(native));
`;
  expect(consumer.run("quiet.cjs", program)).toBe("[]\n");
});

test("the command line runs", () => {
  const program = `
const { spawnSync } = require("node:child_process");
const { dirname, join } = require("node:path");
const manifest = require.resolve("surprisal/package.json");
const command = join(dirname(manifest), require(manifest).bin.surprisal);
const { status, stdout } = spawnSync(process.execPath, [command, "doctor", "--json"], { encoding: "utf8" });
console.log(status, typeof JSON.parse(stdout));
`;
  expect(consumer.run("doctor.cjs", program)).toBe("0 object\n");
});

test("surprisal docs lists the pages that are in the package, and prints one", () => {
  const program = `
const { spawnSync } = require("node:child_process");
const { dirname, join } = require("node:path");
const manifest = require.resolve("surprisal/package.json");
const command = join(dirname(manifest), require(manifest).bin.surprisal);
const docs = (...args) => spawnSync(process.execPath, [command, "docs", ...args], { encoding: "utf8" }).stdout;
console.log(/^advantage\\/grpo +\\S/m.test(docs()), /^# /.test(docs("grpo")), docs("ops/logprob", "--path").trim() === join(dirname(manifest), "docs", "ops", "logprob.md"));
`;
  expect(consumer.run("docs.cjs", program)).toBe("true true true\n");
});
