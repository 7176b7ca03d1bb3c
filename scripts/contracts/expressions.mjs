// Extents of shapes: C expressions over a struct's integers and the enumerators of the headers.
import { parse } from "./grammar.mjs";
import { Refusal } from "./refusal.mjs";

const ARITHMETIC = ["+", "*"];
const LOGIC = ["==", "!=", "<", "<=", ">", ">=", "&&", "||"];
const WHAT = "a whole number, an enumerator, an integer of the struct, or these with + * ?: == != < <= > >= && ||";

/**
 * The tree of an expression: {number} | {constant, value} | {field} | {operator, left, right} | {condition, yes, no}.
 *
 * `integers`: paths of the struct's integers (nested ones with a dot); `constants`: enumerators with their values.
 */
export function readExpression(text, at, integers, constants) {
  const root = parse(`int expression = ${text};`, at);
  const value = root.namedChild(0)?.namedChild(1)?.childForFieldName("value");
  if (!value) throw new Refusal(at, `the extent \`${text}\``, WHAT);
  return treeOf(value, text, at, integers, constants);
}

function treeOf(node, text, at, integers, constants) {
  const below = (child) => treeOf(child, text, at, integers, constants);
  const refuse = (what) => new Refusal(at, `${what} in the extent \`${text}\``, WHAT);
  switch (node.type) {
    case "parenthesized_expression":
      return below(node.namedChild(0));
    case "number_literal":
      if (!/^\d+$/.test(node.text)) throw refuse(`\`${node.text}\``);
      return { number: Number(node.text) };
    case "identifier":
    case "field_expression":
      if (integers.includes(node.text)) return { field: node.text };
      if (node.text in constants) return { constant: node.text, value: constants[node.text] };
      throw refuse(`\`${node.text}\`, no integer of the struct,`);
    case "conditional_expression": {
      const [condition, yes, no] = ["condition", "consequence", "alternative"].map((name) =>
        node.childForFieldName(name),
      );
      return { condition: below(condition), yes: below(yes), no: below(no) };
    }
    case "binary_expression": {
      const operator = node.childForFieldName("operator").text;
      if (![...ARITHMETIC, ...LOGIC].includes(operator)) throw refuse(`the operator ${operator}`);
      return { operator, left: below(node.childForFieldName("left")), right: below(node.childForFieldName("right")) };
    }
    default:
      throw refuse(`\`${node.text}\``);
  }
}

/** The integers that an expression reads. */
export function fieldsOf(tree) {
  if (tree.field) return [tree.field];
  return [tree.left, tree.right, tree.condition, tree.yes, tree.no].filter(Boolean).flatMap(fieldsOf);
}

/**
 * The expression as code. `spell(tree)` spells a leaf, `arithmetic(operator, left, right)` a sum or a product; all else is the same
 * in C++ and TypeScript (`equal` is == or ===).
 */
export function render(tree, { spell, arithmetic, equal }) {
  const code = (part) => render(part, { spell, arithmetic, equal });
  if (tree.condition) return `(${code(tree.condition)} ? ${code(tree.yes)} : ${code(tree.no)})`;
  if (!tree.operator) return spell(tree);
  if (ARITHMETIC.includes(tree.operator)) return arithmetic(tree.operator, code(tree.left), code(tree.right));
  const operator = tree.operator === "==" ? equal : tree.operator;
  const inner = (part) => (part.operator === "||" || part.operator === "&&" ? `(${code(part)})` : code(part));
  return `${inner(tree.left)} ${operator} ${inner(tree.right)}`;
}
