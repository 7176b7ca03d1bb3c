// Tells bundlers what Rollup was told of lib/: loading a module does nothing but define what it exports. A constant that is made by a
// call, or by reading a property, then goes with whatever nobody asks for.

/** Whether every bundler sees by itself that making this value does nothing else. */
function isPlain(node) {
  switch (node.type) {
    case "Literal":
    case "Identifier":
    case "FunctionExpression":
    case "ArrowFunctionExpression":
      return true;
    case "UnaryExpression":
      return node.operator !== "delete" && isPlain(node.argument);
    case "ArrayExpression":
      return node.elements.every((element) => element !== null && isPlain(element));
    case "ObjectExpression":
      return node.properties.every((one) => one.type === "Property" && !one.computed && isPlain(one.value));
    default:
      return false;
  }
}

export const pureConstants = {
  name: "pure-constants",
  renderChunk(code) {
    const made = this.parse(code).body.flatMap((statement) => {
      const declaration = statement.type === "ExportNamedDeclaration" ? statement.declaration : statement;
      return declaration?.type === "VariableDeclaration" ? declaration.declarations : [];
    });
    let text = code;
    for (const { init } of made.reverse()) {
      if (init === null || isPlain(init)) continue;
      text = `${text.slice(0, init.start)}/* @__PURE__ */ (() => (${text.slice(init.start, init.end)}))()${text.slice(init.end)}`;
    }
    return { code: text, map: null };
  },
};
