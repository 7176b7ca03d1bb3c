// Small mistakes that a text can have: each is a place, what stands there, and what is written instead.

import ts from "typescript";

const COMPARISONS = { "<": "<=", "<=": "<", ">": ">=", ">=": ">", "===": "!==", "!==": "===", "==": "!=", "!=": "==" };
const SIGNS = { "+": "-", "-": "+", "*": "/", "/": "*" };

/** All mutants of a file: `{ operator, at, from, to }`, `at` being the offset of `from`. */
export function mutantsOf(path, text) {
  return path.endsWith(".ts") ? ofTypeScript(path, text) : ofCpp(text);
}

function ofTypeScript(path, text) {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const found = [];
  const add = (operator, node, to) => {
    const at = node.getStart(source);
    found.push({ operator, at, from: text.slice(at, node.end), to });
  };
  const visit = (node) => {
    // Types are not run, imports are no statements, and the words of messages are held by tests that quote them.
    if (ts.isTypeNode(node) || ts.isImportDeclaration(node) || ts.isInterfaceDeclaration(node) || isMessage(node))
      return;
    if (ts.isBinaryExpression(node)) {
      const sign = node.operatorToken.getText(source);
      if (sign in COMPARISONS) add("comparison", node.operatorToken, COMPARISONS[sign]);
      if (sign in SIGNS && !hasText(node)) add("sign", node.operatorToken, SIGNS[sign]);
      if ((sign === "+" || sign === "-") && node.right.getText(source) === "1")
        add("bound", node, node.left.getText(source));
      if (sign === "&&") add("bound", node, node.left.getText(source));
      if (sign === "||") add("bound", node, node.right.getText(source));
    }
    if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.MinusToken)
      add("sign", node, node.operand.getText(source));
    if (ts.isNumericLiteral(node)) add("constant", node, otherNumber(node.text));
    if (node.kind === ts.SyntaxKind.TrueKeyword) add("constant", node, "false");
    if (node.kind === ts.SyntaxKind.FalseKeyword) add("constant", node, "true");
    if (ts.isExpressionStatement(node)) add("deletion", node, ";");
    if (ts.isIfStatement(node)) add("deletion", node.expression, "false");
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

function isMessage(node) {
  return ts.isNewExpression(node) && /Error$/.test(node.expression.getText());
}

function hasText(node) {
  return (
    ts.isStringLiteralLike(node.left) ||
    ts.isStringLiteralLike(node.right) ||
    ts.isTemplateExpression(node.left) ||
    ts.isTemplateExpression(node.right)
  );
}

/** clang-format leaves blanks around the signs of arithmetic, and none in the brackets of templates. */
const CPP = [
  ["comparison", / (<|<=|>|>=|==|!=) (?=[^ ])/g, (sign) => COMPARISONS[sign]],
  ["sign", /(?<=[\w)\]] )([+*/-])(?= [\w(])/g, (sign) => SIGNS[sign]],
  ["bound", /(?<=[\w)\]])( [+-] 1)\b(?!\.)/g, () => ""],
  ["constant", /(?<![\w.<"])(\d+(?:\.\d+)?(?:e-?\d+)?)(?![\w.>"])/g, otherNumber],
  ["constant", /\b(true|false)\b/g, (word) => (word === "true" ? "false" : "true")],
  [
    "deletion",
    /(?<=[;{}]\n) +((?!return|case|break|using|static_assert|typedef|const|constexpr|auto|int|float|double|F |T |if|for|while|extern|template|struct|default|goto)[a-zA-Z_*][^;{}\n]*(?:\(| [-+*/|&]?= )[^;{}\n]*;)(?=\n)/g,
    () => ";",
  ],
  ["deletion", /(?<=\bif \()([^()\n]*(?:\([^()\n]*\)[^()\n]*)*)(?=\) )/g, () => "false"],
];

function ofCpp(text) {
  const code = blanked(text);
  const found = [];
  for (const [operator, pattern, other] of CPP)
    for (const match of code.matchAll(pattern)) {
      const at = match.index + match[0].indexOf(match[1]);
      found.push({ operator, at, from: text.slice(at, at + match[1].length), to: other(match[1]) });
    }
  return found;
}

/** Comments, strings and lines of the preprocessor as blanks of the same length. */
function blanked(text) {
  const blank = (part) => part.replace(/[^\n]/g, " ");
  return text.replace(/\/\/[^\n]*|\/\*[\s\S]*?\*\/|"(?:\\.|[^"\\\n])*"|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*/gm, blank);
}

/** 0 → 1, whole numbers one more, others twice as much. */
function otherNumber(text) {
  if (/^\d+$/.test(text)) return String(BigInt(text) + 1n);
  return /e/.test(text) ? `(10 * ${text})` : `(2 * ${text})`;
}
