// The program behind `npm run compatibility`: writes docs/compatibility.md and the lists of families and estimators anew.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { compatibilityPage } from "./compatibility-page";
import { readGoldenFolder } from "./golden";
import { writeTablePages } from "../docs/table-pages";
import { mappings } from "./mappings";

const page = join(__dirname, "..", "..", "docs", "compatibility.md");
writeFileSync(page, compatibilityPage(readGoldenFolder(join(__dirname, "..", "golden")), mappings));
writeTablePages();
process.stdout.write("docs/compatibility.md and the lists of families and estimators are written\n");
