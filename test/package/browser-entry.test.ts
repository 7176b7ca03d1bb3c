// What browsers load: no module of Node, nothing of Node's globals that is needed at loading, and the same functions.
import * as path from "node:path";
import * as vm from "node:vm";
import { build } from "esbuild";
import { distFile } from "../support/dist";

const ROOT = path.join(__dirname, "..", "..");

beforeAll(() => void distFile("browser/index.mjs"));

/** A bundle for browsers, as a script. */
async function bundled(contents: string): Promise<{ text: string; files: readonly string[] }> {
  const { outputFiles, metafile, warnings } = await build({
    stdin: { contents, resolveDir: ROOT },
    bundle: true,
    write: false,
    platform: "browser",
    target: "es2022",
    format: "iife",
    loader: { ".wasm": "binary" },
    metafile: true,
  });
  expect(warnings).toEqual([]);
  return { text: outputFiles[0]!.text, files: Object.keys(metafile.inputs) };
}

/** Runs a script where there are the engine's own globals and those named, which browsers have. */
function runInBrowser(script: string, said: unknown[] = []): unknown {
  const answers: unknown[] = [];
  const context = {
    TextDecoder,
    TextEncoder,
    atob,
    console: { warn: (text: string) => said.push(text) },
    setTimeout,
    AbortSignal,
    URL,
    answer: (value: unknown) => answers.push(JSON.parse(JSON.stringify(value))),
  };
  vm.runInNewContext(script, context);
  return answers[0];
}

test("both entries load without Node, and an op runs on wasm and on js", async () => {
  const { text, files } = await bundled(`
    import * as surprisal from "surprisal";
    import * as io from "surprisal/io";
    import wasm from "surprisal/surprisal.wasm";
    const where = { shape: [1, 2], gamma: 1, lambda: 1 };
    const gae = (backend) => Array.from(surprisal.gae(Float32Array.of(1, 2), Float32Array.of(0, 0), { ...where, backend }).advantages);
    const reasons = Object.fromEntries(surprisal.backendInfo().backends.map(({ name, reason }) => [name, reason]));
    surprisal.configure({ wasm });
    answer({
      names: [Object.keys(surprisal).sort(), Object.keys(io).sort()],
      numbers: [gae("wasm"), gae("js")],
      selected: surprisal.backendInfo().selected,
      cpu: reasons.cpu,
      wasm: reasons.wasm,
    });`);
  expect(files.filter((file) => file.startsWith("dist/") && !file.startsWith("dist/browser/"))).toEqual([]);
  const names = (entry: string) => Object.keys(jest.requireActual<object>(distFile(entry))).sort();
  expect(runInBrowser(text)).toEqual({
    names: [names("index.js"), names("io/index.js")],
    numbers: [
      [3, 2],
      [3, 2],
    ],
    selected: "wasm",
    cpu: "a browser runs no native code",
    wasm: expect.stringContaining("configure({ wasm })") as string,
  });
});

test.each([
  [
    "says once that no module was handed over",
    "",
    [expect.stringMatching(/scanGae in plain JavaScript.*\nconfigure\(\{ wasm \}\)/)],
  ],
  ["says nothing where one was", "configure({ wasm });", []],
])("a large call %s", async (_, first, wanted) => {
  const { text } = await bundled(`
    import { configure, gae } from "surprisal";
    import wasm from "surprisal/surprisal.wasm";
    ${first}
    for (const n of [20000, 30000]) gae(new Float32Array(n), new Float32Array(n), { shape: [1, n], gamma: 1, lambda: 1 });`);
  const said: unknown[] = [];
  runInBrowser(text, said);
  expect(said).toEqual(wanted);
});
