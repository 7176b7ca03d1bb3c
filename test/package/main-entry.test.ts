// What loading the main entry pulls in, in Node and in a bundle, and that there is one library whichever way it is loaded.
import { spawnSync } from "node:child_process";
import * as path from "node:path";
import { rollup } from "rollup";
import { build } from "esbuild";
import { distFile } from "../support/dist";
import { eachDeviceBackend } from "../support/each-device";

const ROOT = path.join(__dirname, "..", "..");

beforeAll(() => void distFile("index.js"));

/** Runs a program in a process of its own, which prints JSON. */
function answerOf(program: string): unknown {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["-e", program], { cwd: ROOT, encoding: "utf8" });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return JSON.parse(stdout);
}

const LOADED = `const loaded = () => Object.keys(require.cache).map((file) => require("node:path").relative("dist", file).replaceAll("\\\\", "/")).sort();`;

test("the main entry loads itself and shared code, no other entry; an op on js what it runs, and nothing of the others", () => {
  const program = `${LOADED}
    const surprisal = require("surprisal");
    const first = loaded();
    surprisal.gae(Float32Array.of(1), Float32Array.of(0), { shape: [1, 1], gamma: 1, lambda: 1, backend: "js" });
    console.log(JSON.stringify([first, loaded()]));`;
  const [first, later] = answerOf(program) as [string[], string[]];
  expect(first).toContain("index.js");
  expect(first.filter((file) => file !== "index.js" && !file.startsWith("chunks/"))).toEqual([]);
  const added = later.filter((file) => !first.includes(file));
  expect(added).toEqual(["backend-js-scan", "backend-js", "ops-scan"].map((part) => `chunks/part-${part}.js`));
});

test("import and require give one library: the same functions, errors and settings", () => {
  const program = `
    const required = require("surprisal");
    const thrown = [];
    const attempt = (run) => { try { run(); } catch (error) { thrown.push(error instanceof required.SurprisalError); } };
    import("surprisal").then(async (imported) => {
      attempt(() => imported.gae([1], [2], {}));
      await require("surprisal/io").readAllRollouts("/nowhere").catch((error) => thrown.push(error instanceof imported.SurprisalError));
      imported.configure({ backend: "js" });
      console.log(JSON.stringify([required.gae === imported.gae, required.backendInfo().requested, ...thrown]));
    });`;
  expect(answerOf(program)).toEqual([true, "js", true, true]);
});

test("a second copy of the library, as a bundle carries one, shares settings and knows the other's errors", () => {
  const program = `
    const required = require("surprisal");
    const caught = (run) => { try { run(); } catch (error) { return error; } };
    import("./dist/index.mjs").then((bundled) => {
      bundled.configure({ backend: "js" });
      const errors = [caught(() => bundled.gae([1], [2], {})), caught(() => required.gae([1], [2], {}))];
      const copies = [required, bundled];
      console.log(JSON.stringify({
        twice: required.gae !== bundled.gae,
        requested: required.backendInfo().requested,
        known: copies.flatMap(({ SurprisalError }) => errors.map((error) => error instanceof SurprisalError)),
        strangers: copies.map(({ SurprisalError }) => new Error("x") instanceof SurprisalError),
      }));
    });`;
  expect(answerOf(program)).toEqual({
    twice: true,
    requested: "js",
    known: [true, true, true, true],
    strangers: [false, false],
  });
});

eachDeviceBackend((backend) => {
  test("a second copy takes the arrays and streams of the first, on one queue of one device", () => {
    const program = `
    const required = require("surprisal");
    import("./dist/index.mjs").then((bundled) => {
      const where = { backend: ${JSON.stringify(backend)} };
      const stream = required.createStream(where);
      const [rewards, values] = [Float32Array.of(1, 2), Float32Array.of(0, 0)].map((array) => required.toDevice(array, { stream }));
      const options = { shape: [1, 2], gamma: 1, lambda: 1, stream };
      const { advantages } = bundled.gae(rewards, values, options);
      console.log(JSON.stringify({
        array: [required, bundled].map(({ isDeviceArray }) => isDeviceArray(advantages)),
        stream: advantages.stream === stream,
        clamped: Array.from(required.clamp(advantages, { shape: [1, 2], high: 2.5 }).clamped.read()),
        memory: required.memoryStats(where).inUse === bundled.memoryStats(where).inUse,
      }));
    });`;
    expect(answerOf(program)).toEqual({
      array: [true, true],
      stream: true,
      clamped: [2.5, 2],
      memory: true,
    });
  });
});

const ONE_FUNCTION = `import { gae } from "surprisal";
  const where = { shape: [1, 2], gamma: 1, lambda: 1, backend: "js" };
  console.log(JSON.stringify(Array.from(gae(Float32Array.of(1, 2), Float32Array.of(0, 0), where).advantages)));`;

/** Runs a bundle as an ES module. */
function expectToRun(bundle: string): void {
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-"], {
    cwd: ROOT,
    encoding: "utf8",
    input: bundle,
  });
  expect({ stdout, stderr }).toEqual({ stdout: "[3,2]\n", stderr: "" });
}

test("a bundle of one function has no other op, no loss and no other entry in it, and runs", async () => {
  const { outputFiles, warnings } = await build({
    stdin: { contents: ONE_FUNCTION, resolveDir: ROOT },
    bundle: true,
    write: false,
    platform: "node",
    format: "esm",
  });
  expect(warnings).toEqual([]);
  const { text } = outputFiles[0]!;
  // Every public function and class is made by one of these.
  expect(text.match(/\bchecked\w*\("\w+"/g)).toEqual(['checked("gae"']);
  expect(text).not.toMatch(/\b(ppoLoss|empgAdvantage|findSpans)\b|<think>/);
  expectToRun(outputFiles[0]!.text);
});

test("Rollup's bundle of one function runs", async () => {
  const entry = "\0entry";
  const bundle = await rollup({
    input: entry,
    external: ["node-gyp-build", /^node:/],
    plugins: [
      {
        name: "from-package",
        resolveId: (id) => (id === "surprisal" ? distFile("index.mjs") : id === entry ? id : undefined),
        load: (id) => (id === entry ? ONE_FUNCTION : undefined),
      },
    ],
  });
  const { output } = await bundle.generate({ format: "es", inlineDynamicImports: true });
  expectToRun(output[0].code);
});

// Functions that choose by name carry all that can be named: docs/backends.md has their sizes, and says why losses are larger than others.
test.each([
  ["gae", 150_000],
  ["logprob", 150_000],
  ["gspoLoss", 169_000],
  ["grpoAdvantage", 153_000],
  ["empgAdvantage", 161_000],
  ["findSpans", 150_000],
  ["ppoLoss", 170_000],
])("a minified bundle of %s alone is at most %d bytes", async (name, most) => {
  const { outputFiles } = await build({
    stdin: { contents: `export { ${name} } from "surprisal";`, resolveDir: ROOT },
    bundle: true,
    write: false,
    platform: "node",
    format: "esm",
    minify: true,
  });
  expect(outputFiles[0]!.contents.length).toBeLessThanOrEqual(most);
});
