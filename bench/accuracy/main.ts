// The program behind `npm run accuracy`: measures every op on every backend, writes docs/accuracy.md.
//   --json             print the measurements, write nothing
//   --family <name>    only this family, write nothing
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { backendInfo } from "../../lib";
import { FAMILIES } from "./families";
import { isOutside, measure, type Measurement } from "./measure";
import { show, toMarkdown } from "./table";

function measureAll(only: string | undefined): Record<string, Measurement[]> {
  const backends = backendInfo().backends.filter(({ available }) => available);
  const chosen = Object.entries(FAMILIES).filter(([family]) => only === undefined || family === only);
  if (chosen.length === 0) throw new Error(`no family ${only ?? ""}; there are ${Object.keys(FAMILIES).join(", ")}`);
  return Object.fromEntries(
    chosen.map(([family, cases]) => [
      family,
      cases(false).flatMap((one) => backends.flatMap(({ name }) => measure(one, name))),
    ]),
  );
}

const { json, family } = parseArgs({
  options: { json: { type: "boolean", default: false }, family: { type: "string" } },
}).values;
const families = measureAll(family);
const measured = Object.values(families).flat();
const outside = measured.filter(isOutside);
const page = { node: process.versions.node, backends: backendInfo().backends, families };

if (json) {
  // JSON has no Infinity: a wrong NaN shows as null.
  process.stdout.write(`${JSON.stringify(page, undefined, 2)}\n`);
} else {
  if (family === undefined) writeFileSync(join(__dirname, "../../docs/accuracy.md"), toMarkdown(page));
  process.stdout.write(`accuracy: ${measured.length} measurements, ${outside.length} outside their budget\n`);
}
for (const { op, output, dtype, input, backend, maxAbs, maxRel, budget, used } of outside)
  process.stderr.write(
    `outside: ${op}: ${output}, ${dtype}, ${input}, ${backend}: ${show(maxAbs)} absolute, ${show(maxRel)} relative, ` +
      `${used === undefined ? "" : `${show(used)} times `}the budget ${budget}\n`,
  );
process.exitCode = outside.length > 0 ? 1 : 0;
