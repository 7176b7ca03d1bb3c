// What the entries export, by the TypeScript compiler: functions with what each takes, and the rest.
import ts from "typescript";
import { at } from "../build/paths.mjs";
import { genericOf } from "./generic-types.mjs";
import { batchesOf, batchTexts, takesOf, takesToMake } from "./takes.mjs";

/** Rollouts as columns: a batch may have their fields beside those that are read. */
const COLUMNS = ["RolloutBatch", "RewardTable", "Experience", "Samples"];

/** A file that is not there: functions that go by a name, one declaration for each name. */
const NAMED = at("lib/named-functions.ts");

function programOf(files, named, before) {
  const { config } = ts.readConfigFile(at("tsconfig.lib.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, at("."));
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists } = host;
  host.fileExists = (file) => file === NAMED || fileExists(file);
  host.getSourceFile = (file, ...rest) =>
    file === NAMED ? ts.createSourceFile(file, named, ts.ScriptTarget.ES2022, true) : getSourceFile(file, ...rest);
  return ts.createProgram([...files, NAMED], { ...options, noEmit: true }, host, before);
}

const exportsOf = (checker, program, file) =>
  checker
    .getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(file)))
    .map((symbol) => [symbol.name, symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol]);

/** Whether a name is exported with its value, not with `export type`. */
function isValue(checker, program, file, symbol, name) {
  if (!(symbol.flags & ts.SymbolFlags.Value)) return false;
  const exported = checker
    .getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(file)))
    .find((other) => other.name === name);
  return !isTypeOnly(checker, exported);
}

/** Whether `export type` stands anywhere between an entry and the declaration. */
function isTypeOnly(checker, symbol) {
  for (let now = symbol; now && now.flags & ts.SymbolFlags.Alias; now = checker.getImmediateAliasedSymbol(now))
    if (now.declarations?.some((node) => ts.isTypeOnlyImportOrExportDeclaration(node))) return true;
  return false;
}

/** The words that a function goes by: those of its first argument, where the types of the others depend on it. */
function wordsOf(checker, type) {
  const [signature] = type.getCallSignatures();
  const [parameter, ...others] = signature.typeParameters ?? [];
  const [first] = signature.parameters;
  if (!parameter || !first || checker.getTypeOfSymbol(first) !== parameter) return { words: [] };
  const constraint = checker.getBaseConstraintOfType(parameter);
  const words = constraint?.isUnion() ? constraint.types : [];
  if (!words.every((word) => word.isStringLiteral())) return { words: [] };
  return { words: words.map(({ value }) => value), others: others.map(() => "any") };
}

const promises = (checker, type) =>
  type.getCallSignatures().every((signature) => signature.getReturnType().symbol?.name === "Promise");

/** The comment of a function: of several overloads the longest one. */
function docOf(symbol) {
  const docs = symbol.declarations.flatMap((node) => ts.getJSDocCommentsAndTags(node).filter(ts.isJSDoc));
  const texts = docs.map((doc) => doc.getText());
  return texts.sort((a, b) => b.length - a.length)[0] ?? "";
}

/** A class that is made with options or arrays; undefined for others, and for errors, which their throwers make. */
function classOf(checker, name, symbol) {
  if (checker.getDeclaredTypeOfSymbol(symbol).getProperty("stack")) return undefined;
  const takes = takesToMake(checker, checker.getTypeOfSymbol(symbol));
  if (!takes.some(({ text, fields }) => fields || text.includes(":"))) return undefined;
  const { typeParameters = [] } = symbol.valueDeclaration;
  return {
    name,
    doc: docOf(symbol),
    takes,
    variables: typeParameters.map((node) => ({ name: node.name.text, text: node.getText() })),
  };
}

/** The main entry has the functions that go by a name. */
function namedSource(functions) {
  const lines = functions.flatMap(({ name, words, others }) =>
    words.map(
      (word) =>
        `export declare const ${name}$${word}: typeof from.${name}<${[JSON.stringify(word), ...others].join(", ")}>;`,
    ),
  );
  return `import type * as from from "./exports";\n${lines.join("\n")}\nexport {};\n`;
}

/** What a function takes by each name, where that differs. */
function byNameOf(checker, instances) {
  const takes = instances.map(([word, instance]) => [word, takesOf(checker, instance)]);
  const texts = new Set(takes.map(([, list]) => JSON.stringify(list)));
  return texts.size > 1 ? takes : undefined;
}

/** The exports of each entry, and all names of fields of batches. */
export function readExports(folders) {
  const files = folders.map((folder) => at(`lib/${folder}exports.ts`));
  const first = programOf(files, "export {};");
  const look = first.getTypeChecker();
  const named = exportsOf(look, first, files[0])
    .filter(([, symbol]) => symbol.flags & ts.SymbolFlags.Function)
    .map(([name, symbol]) => ({ name, ...wordsOf(look, look.getTypeOfSymbol(symbol)) }))
    .filter(({ words }) => words.length > 0);

  const program = programOf(files, namedSource(named), first);
  const checker = program.getTypeChecker();
  const instances = new Map(exportsOf(checker, program, NAMED));
  const batches = new Set();
  const entries = files.map((file) => {
    const functions = [];
    const classes = [];
    const others = [];
    for (const [name, symbol] of exportsOf(checker, program, file)) {
      if (COLUMNS.includes(name)) batches.add(checker.getDeclaredTypeOfSymbol(symbol));
      if (!isValue(checker, program, file, symbol, name)) continue;
      if (!(symbol.flags & ts.SymbolFlags.Function)) {
        const made = symbol.flags & ts.SymbolFlags.Class ? classOf(checker, name, symbol) : undefined;
        if (made) classes.push(made);
        else others.push(name);
        continue;
      }
      const type = checker.getTypeOfSymbol(symbol);
      const { words = [] } = (file === files[0] && named.find((one) => one.name === name)) || {};
      const byName = words.map((word) => [word, checker.getTypeOfSymbol(instances.get(`${name}$${word}`))]);
      for (const one of [type, ...byName.map(([, instance]) => instance)])
        for (const batch of batchesOf(checker, one)) batches.add(batch);
      functions.push({
        name,
        doc: docOf(symbol),
        promises: promises(checker, type),
        takes: takesOf(checker, type),
        overloaded: type.getCallSignatures().length > 1,
        generic: genericOf(checker, type, folders[files.indexOf(file)]),
        byName: byNameOf(checker, byName),
      });
    }
    return { functions, classes, others };
  });
  return { entries, batchFields: batchTexts(checker, [...batches]) };
}
