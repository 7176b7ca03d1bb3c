// The types of generic functions with plain arrays. TypeScript cannot infer a function type's own type parameters, so that
// TakesPlain would lose them: their signatures are written out anew.
import { relative } from "node:path";
import ts from "typescript";
import { at } from "../build/paths.mjs";

/** Type parameters for the logits themselves, whose type a gradient has. */
const LOGITS = ["Logits", "WideLogits"];

/** What wraps a list of arguments as another wraps one. */
const LISTS = { Float32Of: "Float32Arguments", PlainArgument: "PlainArguments" };

/** Where a type is declared, relative to the folder of an entry; undefined for what needs no import. */
function moduleOf(checker, identifier, folder) {
  const symbol = checker.getSymbolAtLocation(identifier);
  const target = symbol && symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
  if (!target || target.flags & ts.SymbolFlags.TypeParameter) return undefined;
  const path = target.declarations[0].getSourceFile().fileName;
  if (path.endsWith(".d.ts")) return undefined;
  const to = relative(at(`lib/${folder}`), path).replace(/\.ts$/, "");
  return to.startsWith(".") ? to : `./${to}`;
}

/** Names of types in a node, each with the node that names it. */
function namesIn(node, found = []) {
  if (ts.isTypeReferenceNode(node)) found.push(ts.isQualifiedName(node.typeName) ? node.typeName.left : node.typeName);
  if (ts.isTypeQueryNode(node)) found.push(node.exprName);
  node.forEachChild((child) => void namesIn(child, found));
  return found;
}

/** A type that may be plain already, without that. */
const bareOf = (node) =>
  node && ts.isTypeReferenceNode(node) && node.typeName.getText() === "PlainFields" ? node.typeArguments[0] : node;

/** The last overload of a function, if it has type parameters: its texts, and the types to import for them. */
export function genericOf(checker, type, folder) {
  const { declaration } = type.getCallSignatures().at(-1);
  if (!declaration?.typeParameters || !declaration.type) return undefined;
  const parameters = declaration.parameters.map(({ name, type: node, questionToken, dotDotDotToken, initializer }) => ({
    name: ts.isIdentifier(name) ? name.text : "options",
    text: bareOf(node)?.getText() ?? "unknown",
    node: bareOf(node),
    rest: Boolean(dotDotDotToken),
    optional: Boolean(questionToken ?? initializer),
  }));
  const variables = declaration.typeParameters.map((node) => ({
    name: node.name.text,
    text: node.getText(),
    logits: LOGITS.includes(node.constraint?.getText()),
  }));
  const nodes = [...declaration.typeParameters, ...parameters.flatMap(({ node }) => node ?? []), declaration.type];
  const imports = nodes
    .flatMap((node) => namesIn(node))
    .map((identifier) => [identifier.text, moduleOf(checker, identifier, folder)])
    .filter(([, path]) => path !== undefined);
  return { variables, parameters, result: declaration.type.getText(), imports };
}

/** One signature: with `wrap` around the types of arguments, and float32 in the place of the type of logits if `matrix`. */
function signature({ variables, parameters, result }, wrap, wrapResult, matrix) {
  const kept = variables.filter(({ logits }) => !(matrix && logits));
  const gone = matrix ? variables.filter(({ logits }) => logits).map(({ name }) => name) : [];
  const replaced = (text) =>
    gone.reduce((now, name) => now.replace(new RegExp(`\\b${name}\\b`, "g"), "Float32Array"), text);
  const own = kept.length > 0 ? `<${kept.map(({ text }) => text).join(", ")}>` : "";
  const list = parameters.map(({ name, text, rest, optional }) => {
    // What an argument's own type is inferred from stays as it is.
    const naked = kept.some((variable) => variable.name === text);
    const inner = naked ? text : rest ? `${LISTS[wrap]}<${replaced(text)}>` : `${wrap}<${replaced(text)}>`;
    return `${rest ? "..." : ""}${name}${optional ? "?" : ""}: ${inner}`;
  });
  return `${own}(${list.join(", ")}): ${wrapResult}<${replaced(result)}>;`;
}

/** The type of a generic function that takes plain arrays. */
export function genericText(own, generic) {
  const lines = [
    signature(generic, "Float32Of", "Float32Of", false),
    signature(generic, "PlainArgument", "Beside", false),
    ...(generic.variables.some(({ logits }) => logits) ? [signature(generic, "PlainArgument", "Beside", true)] : []),
  ];
  return `{\n${lines.join("\n")}\n} & ${own}`;
}

/** The imports that several generic functions need. */
export function genericImports(generics) {
  const paths = new Map();
  for (const [name, path] of generics.flatMap(({ imports }) => imports))
    paths.set(path, (paths.get(path) ?? new Set()).add(name));
  return [...paths].sort().map(([path, names]) => `import type { ${[...names].sort().join(", ")} } from "${path}";`);
}
