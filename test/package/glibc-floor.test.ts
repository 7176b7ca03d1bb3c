// Libraries of a release load where glibc is old: what they ask for is read from the file, and too new a name is refused.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const root = join(__dirname, "..", "..");
const script = (name: string) => JSON.stringify(pathToFileURL(join(root, "scripts", name)).href);
const here = (tool: string) => spawnSync(tool, ["--version"]).status === 0;

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), "surprisal-glibc-"))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Empty, or why the library asks for more than the floor of the CUDA backend. */
function asks(file: string): string {
  const program = `
import { FLOOR } from ${script("build/cuda.mjs")};
import { needFloor } from ${script("release/glibc-floor.mjs")};
await needFloor(${JSON.stringify(file)}, FLOOR).catch((error) => console.log(error.message));`;
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", program], { encoding: "utf8" });
  return stdout + stderr;
}

const toolsThere = process.platform === "linux" && here("readelf") && here("gcc");
const ofLinux = toolsThere ? test : test.skip;

ofLinux("a library that asks for a newer name is refused, by the name", () => {
  const [library, source, versions, user, asking] = ["b.so", "b.c", "b.map", "a.c", "a.so"].map((name) =>
    join(folder, name),
  ) as [string, string, string, string, string];
  writeFileSync(source, "void of_today(void) {}\n");
  writeFileSync(versions, "GLIBC_2.29 { global: of_today; };\n");
  writeFileSync(user, "void of_today(void);\nvoid call(void) { of_today(); }\n");
  for (const flags of [
    [source, "-o", library, `-Wl,--version-script,${versions}`],
    [user, library, "-o", asking],
  ])
    expect(spawnSync("gcc", ["-shared", "-fPIC", ...flags], { encoding: "utf8" }).stderr).toBe("");
  expect(asks(asking)).toContain("a.so asks for more than glibc 2.28 has: of_today (GLIBC_2.29)");
  expect(asks(library)).toBe("");
});

const built = ["build-cuda/libsurprisal_cuda.so", "build-emulated/libsurprisal_emulated.so"] as const;
for (const library of built) {
  const file = join(root, library);
  if (toolsThere && existsSync(file)) test(`${library} asks for glibc 2.28 at most`, () => expect(asks(file)).toBe(""));
  else test.skip(`${library}: not built here, or no readelf`, () => undefined);
}
