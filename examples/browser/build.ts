// npx tsx examples/browser/build.ts [FILE]: the page as one file, with the package's browser entries and its WebAssembly module in it.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

export async function pageText(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(__dirname, "page.js")],
    bundle: true,
    write: false,
    minify: true,
    platform: "browser",
    target: "es2022",
    format: "iife",
    loader: { ".wasm": "binary" },
  });
  const script = outputFiles[0]!.text.replaceAll("</script", "<\\/script");
  return readFileSync(join(__dirname, "page.html"), "utf8").replace("/* SCRIPT */", () => script);
}

async function main(): Promise<void> {
  const file = process.argv[2] ?? "rollouts.html";
  writeFileSync(file, await pageText());
  process.stdout.write(`${file}\n`);
}

if (require.main === module) void main();
