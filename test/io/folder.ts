// A folder that is gone after the tests of a file.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export function temporaryFolder(): { readonly at: (name: string) => string } {
  const folder = mkdtempSync(join(tmpdir(), "surprisal-io-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return { at: (name) => join(folder, name) };
}
