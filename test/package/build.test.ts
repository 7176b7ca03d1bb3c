// surprisal build from the tarball: what an npm install left is compiled in place, and then used.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { installTarball, type Consumer } from "./consumer";

const MINUTES = 60_000;

const ROOT = join(__dirname, "../..");
/** Where `npm run build` leaves what it compiled of the same sources. */
const OBJECTS = join(ROOT, "build/Release/obj.target/surprisal/native/cpu");

// Between CMake and the compiler: the loops of the instruction sets, which take two thirds of the time, are taken as `npm run build`
// compiled them.
const LAUNCHER = `
for arg in "$@"; do
  case $arg in */level_*.cpp) level=$(basename "$arg" .cpp) ;; esac
  case $before in -o) object=$arg ;; -MF) depends=$arg ;; esac
  before=$arg
done
if [ -z "$level" ] || [ ! -e "${OBJECTS}/$level.o" ]; then exec "$@"; fi
: >"\${depends:-/dev/null}"
exec cp "${OBJECTS}/$level.o" "$object"
`;

let consumer: Consumer;
beforeAll(() => {
  consumer = installTarball();
});
afterAll(() => {
  consumer.remove();
});

function surprisal(args: readonly string[], environment: NodeJS.ProcessEnv = {}) {
  const program = join(consumer.folder, "node_modules", "surprisal", "dist", "cli", "main.js");
  const { SURPRISAL_BACKEND: _backend, SURPRISAL_NATIVE_PATH: _path, ...clean } = process.env;
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], {
    cwd: consumer.folder,
    encoding: "utf8",
    env: { ...clean, ...environment },
  });
  return { status, stdout, stderr };
}

const missing = ["cmake", "c++"].filter((tool) => spawnSync("sh", ["-c", `command -v ${tool}`]).status !== 0);
if (missing.length > 0) test.skip(`no ${missing.join(", no ")}: nothing can be compiled`, () => undefined);
else
  test(
    "with no other package it compiles the addon into this one, where the cpu backend is found, and leaves nothing else",
    () => {
      const folder = join(consumer.folder, "node_modules", "surprisal");
      // What the levels include the compiler does not look for here: all of it is there.
      const sources = readdirSync(join(ROOT, "native/cpu"), { recursive: true }).map(String);
      expect(sources.filter((name) => !existsSync(join(folder, "native/cpu", name)))).toEqual([]);
      const launcher = join(consumer.folder, "launcher.sh");
      writeFileSync(launcher, LAUNCHER);
      // --debug: a third of the time. The optimised build differs in one flag.
      const { status, stdout, stderr } = surprisal(["build", "--debug", "--json"], {
        CMAKE_CXX_COMPILER_LAUNCHER: `sh;${launcher}`,
      });
      expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
      const { file } = JSON.parse(stdout) as { file: string };
      expect(existsSync(file)).toBe(true);
      expect(readdirSync(join(folder, "build"), { recursive: true })).toEqual([
        "Release",
        join("Release", "surprisal.node"),
      ]);

      const doctor = JSON.parse(surprisal(["doctor", "--json"]).stdout) as {
        backends: { name: string; available: boolean; reason?: string }[];
      };
      expect(doctor.backends.find(({ name }) => name === "cpu")).toMatchObject({ available: true });
      expect(consumer.run("cpu.cjs", PROGRAM)).toBe("1,1,1\n");
    },
    5 * MINUTES,
  );

const PROGRAM = `
const { gae } = require("surprisal");
const { advantages } = gae(new Float32Array([0, 0, 1]), new Float32Array(3), { shape: [1, 3], gamma: 1, lambda: 1, backend: "cpu" });
console.log(Array.from(advantages).join());
`;

test("--arch without --cuda is refused as a wrong command line", () => {
  const { status, stderr } = surprisal(["build", "--arch", "90"]);
  expect(status).toBe(2);
  expect(stderr).toContain("--arch is for --cuda");
});
