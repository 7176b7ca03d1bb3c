// The installed package in a page that a bundler made: it takes the browser's entries and the module, which compute in Chromium what
// they compute in Node.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import * as path from "node:path";
import { backendInfo, computeAdvantages, logprob } from "../../lib";
import { readAllRollouts, toBatch } from "../../lib/io";
import { Browser } from "../support/chromium/browser";
import { findChromium } from "../support/chromium/install";
import { HANG_MS } from "../support/hang";
import { bundlerFile } from "../support/nodes";
import { installTarball, type Consumer } from "./consumer";

const ROOT = path.join(__dirname, "..", "..");
const LINES = [1, 0, 0.5, 1].map((reward, i) =>
  JSON.stringify({ group: i >> 1, reward, sampler_logprobs: [-0.5, -i] }),
);
const SHAPE = [2, 32768] as const;
const logits = Float32Array.from(
  { length: SHAPE[0] * SHAPE[1] },
  (_, i) => 8 * Math.fround(((i * 7919) % 10007) / 10007),
);

/** The page's program. `wasm` is the address of the module, as each bundler gives it. */
const PROGRAM = (wasm: string) => `
import { backendInfo, computeAdvantages, configure, logprob } from "surprisal";
import { readAllRollouts, toBatch } from "surprisal/io";
import wasm from "${wasm}";

async function compute() {
  configure({ wasm: await WebAssembly.compileStreaming(fetch(wasm)) });
  const logits = Float32Array.from({ length: ${SHAPE[0] * SHAPE[1]} }, (_, i) => 8 * Math.fround(((i * 7919) % 10007) / 10007));
  const { logProbs, entropies } = logprob(logits, Int32Array.of(1, 32767), { shape: [${SHAPE.join(", ")}] });
  const { rollouts } = await readAllRollouts(new TextEncoder().encode(${JSON.stringify(LINES.join("\n"))}));
  const { rowAdvantages } = computeAdvantages("grpo", toBatch(rollouts));
  return { selected: backendInfo().selected, numbers: [...logProbs, ...entropies], rowAdvantages: [...rowAdvantages] };
}
globalThis.result = compute();
`;

interface Bundler {
  readonly name: string;
  /** The program that Node runs: the bundler's or what calls it; undefined where it is not installed. */
  readonly file: string | undefined;
  /** How it is asked for the address of the module. */
  readonly wasm?: string;
  readonly args: readonly string[];
  readonly config?: readonly [file: string, text: string];
}

// Each writes main.js into out/, next to the module.
const BUNDLERS: readonly Bundler[] = [
  {
    name: "esbuild",
    file: "esbuild.cjs",
    args: [],
    config: [
      "esbuild.cjs",
      `require(${JSON.stringify(path.join(ROOT, "node_modules/esbuild"))}).buildSync({
  entryPoints: ["main.js"], bundle: true, minify: true, format: "esm", outdir: "out", loader: { ".wasm": "file" },
});`,
    ],
  },
  {
    name: "Rollup",
    file: path.join(ROOT, "node_modules/rollup/dist/bin/rollup"),
    args: ["--config", "rollup.config.mjs", "--silent"],
    config: [
      "rollup.config.mjs",
      `import { readFileSync } from "node:fs";
const { exports } = JSON.parse(readFileSync("../node_modules/surprisal/package.json", "utf8"));
const surprisal = {
  name: "surprisal",
  resolveId(id) {
    const target = id.startsWith("surprisal") && exports["." + id.slice(9)];
    return target ? process.cwd() + "/../node_modules/surprisal/" + (target.browser ?? target) : null;
  },
  load(id) {
    if (!id.endsWith(".wasm")) return null;
    const file = this.emitFile({ type: "asset", name: "surprisal.wasm", source: readFileSync(id) });
    return "export default import.meta.ROLLUP_FILE_URL_" + file;
  },
};
export default { input: "main.js", plugins: [surprisal], output: { dir: "out", format: "es" } };`,
    ],
  },
  {
    name: "Vite",
    file: bundlerFile("Vite"),
    wasm: "surprisal/surprisal.wasm?url",
    args: ["build"],
    config: [
      "vite.config.mjs",
      `export default {
  base: "./",
  logLevel: "error",
  build: { outDir: "out", emptyOutDir: false, assetsDir: "", rollupOptions: { input: "main.js", output: { entryFileNames: "main.js" } } },
};`,
    ],
  },
  {
    name: "webpack",
    file: bundlerFile("webpack"),
    args: ["--config", "webpack.config.cjs"],
    config: [
      "webpack.config.cjs",
      `module.exports = {
  mode: "production",
  entry: "./main.js",
  output: { path: __dirname + "/out", filename: "main.js" },
  module: { rules: [{ test: /\\.wasm$/, type: "asset/resource" }] },
  performance: false,
  stats: "errors-warnings",
};`,
    ],
  },
];

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".wasm": "application/wasm",
};

/** Serves the files of a folder. */
async function serve(folder: string): Promise<{ server: Server; address: string }> {
  const server = createServer(({ url = "/" }, response) => {
    const file = path.join(folder, path.posix.normalize(url));
    response.setHeader("content-type", TYPES[path.extname(file)] ?? "application/octet-stream");
    response.end(readFileSync(file));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  return { server, address: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

const chromium = findChromium();
const wasm = backendInfo().backends.find(({ name }) => name === "wasm")!;
const missing = "missing" in chromium ? chromium.missing : wasm.reason;

if ("missing" in chromium || missing) test.skip(`bundles in a browser: ${missing}`, () => undefined);
else {
  let consumer: Consumer | undefined;
  let browser: Browser | undefined;
  let open: { server: Server; address: string } | undefined;
  beforeAll(async () => {
    consumer = installTarball();
    browser = new Browser(chromium.path);
    open = await serve(consumer.folder);
  });
  afterAll(async () => {
    open?.server.close();
    await browser?.close();
    consumer?.remove();
  });

  /** The folder of this bundler's project, beside the installed package, and its page. */
  function bundle({ name, file, wasm: address = "surprisal/surprisal.wasm", args, config }: Bundler): string {
    const folder = path.join(consumer!.folder, name);
    mkdirSync(path.join(folder, "out"), { recursive: true });
    writeFileSync(path.join(folder, "main.js"), PROGRAM(address));
    writeFileSync(path.join(folder, "package.json"), "{}");
    writeFileSync(
      path.join(folder, "out/index.html"),
      '<!doctype html><link rel="icon" href="data:,"><script type="module" src="main.js"></script>',
    );
    if (config) writeFileSync(path.join(folder, config[0]), config[1]);
    execFileSync(process.execPath, [file!, ...args], { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
    return `${open!.address}/${name}/out/index.html`;
  }

  for (const bundler of BUNDLERS)
    if (!bundler.file) test.skip(`${bundler.name}: not installed, "npm run nodes" does`, () => undefined);
    else
      test(
        `a page by ${bundler.name} runs on wasm and has Node's numbers`,
        async () => {
          const page = await browser!.page(bundle(bundler));
          const got = await page.evaluate("globalThis.result");
          const { logProbs, entropies } = logprob(logits, Int32Array.of(1, 32767), { shape: SHAPE, backend: "wasm" });
          const { rollouts } = await readAllRollouts(Buffer.from(LINES.join("\n")));
          const { rowAdvantages } = computeAdvantages("grpo", toBatch(rollouts));
          expect(got).toEqual({
            selected: "wasm",
            numbers: [...logProbs, ...entropies],
            rowAdvantages: [...rowAdvantages],
          });
          expect(page.errors).toEqual([]);
        },
        HANG_MS,
      );
}
