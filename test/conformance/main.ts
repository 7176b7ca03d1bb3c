// The program behind `npm run conformance`.
import { backendInfo } from "surprisal";
import { main } from "./cli";
import { mappings } from "./mappings";
import { noRecordings, runRecordings } from "./trl-recordings";

const clearLine = "\r\u001b[K";

if (noRecordings !== undefined) process.stderr.write(`steps of TRL are left out: ${noRecordings}\n`);

// exitCode, not exit(): output that is still on its way to a pipe must not be cut off.
process.exitCode = main(
  process.argv.slice(2),
  {
    mappings,
    ...(noRecordings === undefined && { recordings: runRecordings }),
    backends: backendInfo().backends,
  },
  {
    out: (line) => process.stdout.write(`${line}\n`),
    err: (line) => process.stderr.write(`${line}\n`),
    progress: process.stderr.isTTY ? (line) => process.stderr.write(clearLine + line) : undefined,
  },
);
