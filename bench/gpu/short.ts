// A short suite for tools that slow everything down a hundredfold: golden cases of every function, the smallest first.
import { join } from "node:path";
import { parseArgs } from "node:util";
import { readGoldenFolder } from "../../test/conformance/golden";
import { mappings } from "../../test/conformance/mappings";
import { runBackend } from "../../test/conformance/run";
import type { BackendName } from "../../test/support/each-backend";

const PER_FUNCTION = 3;

const { values } = parseArgs({ options: { backend: { type: "string", default: "cuda" } } });
const files = readGoldenFolder(join(__dirname, "..", "..", "test", "golden")).map((file) => ({
  ...file,
  cases: [...file.cases].sort((a, b) => JSON.stringify(a).length - JSON.stringify(b).length).slice(0, PER_FUNCTION),
}));
const { totals } = runBackend(files, mappings, values.backend as BackendName);
console.log(`${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`);
process.exitCode = totals.failed > 0 || totals.passed === 0 ? 1 : 0;
