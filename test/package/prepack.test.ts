// What npm runs before it packs: a tarball without the library or without an addon is not made.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

const root = join(__dirname, "..", "..");
let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), "surprisal-prepack-"))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const LIBRARY = [
  "dist/index.js",
  "dist/index.mjs",
  "dist/index.d.ts",
  "dist/cli/main.js",
  "dist/headers/node-api-headers/node_api.h",
  "build-wasm/surprisal.wasm",
];
const ADDONS = [
  "prebuilds/linux-x64/surprisal.glibc.node",
  "prebuilds/linux-x64/surprisal.musl.node",
  "prebuilds/linux-arm64/surprisal.glibc.node",
  "prebuilds/win32-x64/surprisal.node",
];
const OF_MAC = ["prebuilds/darwin-x64/surprisal.node", "prebuilds/darwin-arm64/surprisal.node"];

function make(files: readonly string[]): void {
  for (const file of files) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), "");
  }
}

function prepack(without = ""): { status: number | null; stderr: string } {
  const { status, stderr } = spawnSync(process.execPath, [join(root, "scripts/prepack.mjs"), folder], {
    encoding: "utf8",
    env: { ...process.env, SURPRISAL_WITHOUT: without },
  });
  return { status, stderr };
}

test("npm runs it", () => {
  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    scripts: Record<string, string>;
  };
  expect(scripts["prepack"]).toBe("node scripts/prepack.mjs");
});

test("it refuses what lacks a file, and names each", () => {
  make([...LIBRARY, ...ADDONS]);
  const { status, stderr } = prepack();
  expect(status).toBe(1);
  expect(stderr).toContain(`refused, there is no ${OF_MAC.join(", no ")}\n`);
  rmSync(join(folder, "dist"), { recursive: true });
  expect(prepack().stderr).toContain("no dist/index.js");
});

test("it lets pass what is whole, or what lacks the targets that it was told of, and says so", () => {
  make([...LIBRARY, ...ADDONS]);
  expect(prepack("darwin-x64,darwin-arm64")).toEqual({
    status: 0,
    stderr: "prepack: this tarball is without darwin-x64\nprepack: this tarball is without darwin-arm64\n",
  });
  expect(prepack("darwin")).toMatchObject({ status: 2 });
  make(OF_MAC);
  expect(prepack()).toEqual({ status: 0, stderr: "" });
});
