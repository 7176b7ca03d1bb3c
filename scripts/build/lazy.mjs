// Files that are loaded when they are needed. Rollup's CommonJS requires at its begin all that a file refers to; here what is referred to
// in functions alone is required by the first of them that runs. Node compiles what it loads, and a program that calls a few functions
// should not wait for the others.
//
// `const x = require("y")` becomes a function x that does it, and each x an x(). What a file hands on, `exports.a = x.a`, becomes a getter.

/** A require of one name at the top, or nothing. */
function requiredBy(node) {
  if (node.type !== "VariableDeclaration" || node.declarations.length !== 1) return undefined;
  const [{ id, init }] = node.declarations;
  const requires = init?.type === "CallExpression" && init.callee.type === "Identifier" && init.callee.name === "require";
  return requires && id.type === "Identifier" ? { name: id.name, node, call: init } : undefined;
}

const FUNCTIONS = new Set(["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"]);

/** `exports.a = x.b` at the top: both names. */
function handedOn(node) {
  if (node.type !== "ExpressionStatement" || node.expression.type !== "AssignmentExpression") return undefined;
  const { left, right } = node.expression;
  const isMember = (member) => member.type === "MemberExpression" && !member.computed && member.object.type === "Identifier";
  if (!isMember(left) || left.object.name !== "exports" || !isMember(right)) return undefined;
  return { as: left.property.name, of: right.object.name, name: right.property.name };
}

/** Where a node declares names: by the kind of node, the properties. */
const DECLARING = {
  VariableDeclarator: ["id"],
  FunctionDeclaration: ["id", "params"],
  FunctionExpression: ["id", "params"],
  ArrowFunctionExpression: ["params"],
  ClassDeclaration: ["id"],
  ClassExpression: ["id"],
  CatchClause: ["param"],
};
const PATTERNS = { ObjectPattern: ["properties"], ArrayPattern: ["elements"], Property: ["value"], AssignmentPattern: ["left"], RestElement: ["argument"] };

/** Whether a name is that of a property, and no variable. */
const isProperty = (parent, key) =>
  (parent.type === "MemberExpression" && key === "property" && !parent.computed) ||
  (/^(Property|MethodDefinition|PropertyDefinition)$/.test(parent.type) && key === "key" && !parent.computed);

/** Whether a node is what `new` calls, or an object in that. */
const isMade = (parent, key, parentIsMade) =>
  (parent.type === "NewExpression" && key === "callee") || (parent.type === "MemberExpression" && key === "object" && parentIsMade);

/** Every use of one of the names: where it stands, whether in a function, in the short form of a property, to declare it, or after `new`. */
function usesOf(names, ast) {
  const found = [];
  const visit = (node, parent, key, inside, declares, parentIsMade) => {
    if (Array.isArray(node)) return node.forEach((each) => visit(each, parent, key, inside, declares, false));
    if (typeof node?.type !== "string") return undefined;
    const made = isMade(parent, key, parentIsMade);
    if (node.type === "Identifier") {
      if (names.has(node.name) && !isProperty(parent, key))
        found.push({ node, parent, inside, declares, made, short: parent.type === "Property" && parent.shorthand });
      return undefined;
    }
    const deeper = inside || FUNCTIONS.has(node.type);
    for (const [name, value] of Object.entries(node)) {
      const declaring = DECLARING[node.type]?.includes(name) || (declares && PATTERNS[node.type]?.includes(name));
      visit(value, node, name, deeper, declaring, made);
    }
    return undefined;
  };
  visit(ast, {}, "", false, false, false);
  return found;
}

/**
 * Makes a getter. Node's ES modules read the names of exports off the text, as a rule only of values; of these off a line that never runs.
 */
const handingOn = (names) => `
function handOn(name, get) { Object.defineProperty(exports, name, { enumerable: true, get }); }
0 && (module.exports = { ${names.join(", ")} });
`;

/**
 * Whether the file of that require is loaded ahead of the chunk anyway: the parts of the JavaScript backend, which opens them. Their loops
 * call its functions for each number, and are slower by half where each call asks for the file.
 */
const isThere = (chunk, [file]) => chunk.startsWith("part-backend-js-") && file.value === "./part-backend-js.js";

/**
 * But for `programs`, by their names: those that run the code of others load all they need before it.
 *
 * @returns {import('rollup').OutputPlugin}
 */
export const lazyRequires = (programs) => ({
  name: "lazy-requires",
  renderChunk(code, { name: chunk }) {
    if (programs.includes(chunk)) return null;
    const ast = this.parse(code);
    const requires = ast.body.flatMap((node) => requiredBy(node) ?? []).filter(({ call }) => !isThere(chunk, call.arguments));
    const required = new Map(requires.map((each) => [each.name, each]));
    const handed = ast.body.map((node) => ({ node, ...handedOn(node) })).filter(({ of }) => required.has(of));
    const isHanded = ({ node }) => handed.some(({ node: { start, end } }) => start <= node.start && node.end <= end);
    const uses = usesOf(new Set(required.keys()), ast).filter((use) => !isHanded(use));
    // What is needed at once, and what another variable has the name of.
    const own = new Set([...required.values()].map(({ node }) => node.declarations[0]));
    for (const { node, parent, inside, declares } of uses) if (!own.has(parent) && (declares || !inside)) required.delete(node.name);

    const changes = [];
    for (const { name, node, call } of required.values())
      changes.push([node, `let ${name}$file;\nconst ${name} = () => (${name}$file ??= ${code.slice(call.start, call.end)});`]);
    for (const { node, short, declares, made } of uses)
      if (required.has(node.name) && !declares) changes.push([node, short ? `${node.name}: ${node.name}()` : made ? `(${node.name}())` : `${node.name}()`]);
    for (const { node, as, of, name } of handed)
      if (required.has(of))
        changes.push([node, `handOn("${as}", () => ${of}().${name});`]);
    const getters = handed.filter(({ of }) => required.has(of)).map(({ as }) => as);
    changes.sort(([a], [b]) => b.start - a.start);
    let text = code;
    for (const [{ start, end }, to] of changes) text = text.slice(0, start) + to + text.slice(end);
    return { code: text + (getters.length > 0 ? handingOn(getters) : ""), map: null };
  },
});
