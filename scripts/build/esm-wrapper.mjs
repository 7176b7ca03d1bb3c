// <entry>.mjs and <entry>.d.mts for a compiled CommonJS entry. Names are written out, because
// `export *` would also export what TypeScript adds for itself (__esModule).

import { writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import ts from "typescript";

export function writeEsmWrapper(folder, entry) {
  const { values, types } = exportedNames(join(folder, `${entry}.d.ts`));
  const from = `"./${basename(entry)}.js"`;
  const block = (keyword, names) =>
    names.length === 0 ? "" : `${keyword} {\n${names.map((name) => `  ${name},\n`).join("")}} from ${from};\n`;
  writeFileSync(join(folder, `${entry}.mjs`), block("export", values));
  writeFileSync(join(folder, `${entry}.d.mts`), block("export", values) + block("export type", types));
}

/** What a declaration file exports, told apart into values (functions, classes, constants) and types. */
export function exportedNames(declarationFile) {
  const program = ts.createProgram([declarationFile], {
    module: ts.ModuleKind.Node16,
    moduleResolution: ts.ModuleResolutionKind.Node16,
    target: ts.ScriptTarget.ES2022,
    types: [],
    skipLibCheck: true,
  });
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(declarationFile);
  const module = source && checker.getSymbolAtLocation(source);
  if (!module) throw new Error(`${declarationFile} exports nothing`);
  const values = [];
  const types = [];
  for (const symbol of checker.getExportsOfModule(module)) {
    const real = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
    // `export type { Class }` keeps a value's flags and is still no value.
    const isValue = (real.flags & ts.SymbolFlags.Value) !== 0 && !isTypeOnly(symbol);
    (isValue ? values : types).push(symbol.name);
  }
  return { values: values.sort(), types: types.sort() };
}

function isTypeOnly(symbol) {
  return symbol.declarations?.some((node) => ts.isTypeOnlyImportOrExportDeclaration(node)) ?? false;
}
