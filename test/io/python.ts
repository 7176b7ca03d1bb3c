// A Python that has a package, if there is one: SURPRISAL_TEST_PYTHON, or the system's. Nothing is installed.
import { spawnSync } from "node:child_process";

const candidates = [process.env["SURPRISAL_TEST_PYTHON"], "/usr/bin/python3", "python3"].filter(
  (path) => path !== undefined && path !== "",
);

/** The first Python that can import the packages. */
function pythonWith(...packages: readonly string[]): string | undefined {
  const program = `import ${packages.join(", ")}`;
  return candidates.find((path) => spawnSync(path!, ["-c", program], { stdio: "ignore" }).status === 0);
}

/** What a program prints, as JSON. */
export function runPython(python: string, program: string, ...args: readonly string[]): unknown {
  const { status, stdout, stderr } = spawnSync(python, ["-c", program, ...args], { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout);
}

/** A test that runs where Python has the packages, and else says that it did not. */
export function testWithPython(
  packages: readonly string[],
  title: string,
  body: (python: string) => Promise<void>,
): void {
  const python = pythonWith(...packages);
  if (python === undefined) test.skip(`${title} (skipped: no python3 with ${packages.join(", ")})`, () => undefined);
  else test(title, () => body(python));
}
