// The program behind `npm run compatibility`: writes docs/compatibility.md anew.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { compatibilityPage } from "./compatibility-page";
import { readGoldenFolder } from "./golden";
import { mappings } from "./mappings";

const page = join(__dirname, "..", "..", "docs", "compatibility.md");
writeFileSync(page, compatibilityPage(readGoldenFolder(join(__dirname, "..", "golden")), mappings));
process.stdout.write("docs/compatibility.md is written\n");
