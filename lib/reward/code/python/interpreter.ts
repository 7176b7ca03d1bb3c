// A Python interpreter: of one program, or of the tests of one. Runs in the sandbox's process.
import type { Interpreter, SandboxLimits } from "../protocol";
import { openRealm, type Snapshot } from "./realm";

const DEAD = "00\n";

export class PythonInterpreter implements Interpreter {
  readonly #realm: Awaited<ReturnType<typeof openRealm>>;
  readonly #tests: { ask?: (request: string) => string };

  private constructor(realm: Awaited<ReturnType<typeof openRealm>>, tests: { ask?: (request: string) => string }) {
    this.#realm = realm;
    this.#tests = tests;
  }

  static async open(folder: string, limits: SandboxLimits, snapshot: Snapshot): Promise<PythonInterpreter> {
    const tests: { ask?: (request: string) => string } = {};
    const realm = await openRealm(folder, limits, snapshot, (request) => tests.ask?.(request) ?? "");
    return new PythonInterpreter(realm, tests);
  }

  serveTests(ask: (request: string) => string): void {
    this.#tests.ask = ask;
    this.#realm.serveTests();
  }

  call(line: string, body: string): string {
    try {
      const said = this.#realm.call(line, body);
      return typeof said === "string" ? said : DEAD;
    } catch {
      return DEAD;
    }
  }
}
