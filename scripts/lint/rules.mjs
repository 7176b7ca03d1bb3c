// Two rules of this project's own for oxlint (.oxlintrc.json): how things are named, and what is not spread.

const CAMEL = /^[a-z][a-zA-Z0-9]*$/;
const PASCAL = /^[A-Z][a-zA-Z0-9]*$/;
const UPPER = /^[A-Z][A-Z0-9_]*$/;

/** Functions are camelCase, constants of a module that or UPPER_CASE or PascalCase, types PascalCase. C names (B, T, V) stand where a
 * contract is quoted: parameters, fields and local names are free. */
const names = {
  create(context) {
    const check = (id, forms, says) => {
      if (id?.type !== "Identifier" || forms.some((form) => form.test(id.name))) return;
      context.report({ node: id, message: `${id.name}: ${says}` });
    };
    const constants = (node) => {
      if (node.kind === "const")
        for (const { id } of node.declarations)
          check(id, [CAMEL, UPPER, PASCAL], "a constant of a module is camelCase, UPPER_CASE or PascalCase");
    };
    const type = ({ id }) => check(id, [PASCAL], "a type is PascalCase");
    return {
      FunctionDeclaration: ({ id }) => check(id, [CAMEL], "a function is camelCase"),
      TSDeclareFunction: ({ id }) => check(id, [CAMEL], "a function is camelCase"),
      "Program > VariableDeclaration": constants,
      "Program > ExportNamedDeclaration > VariableDeclaration": constants,
      ClassDeclaration: type,
      TSInterfaceDeclaration: type,
      TSTypeAliasDeclaration: type,
      TSEnumDeclaration: type,
      TSTypeParameter: ({ name }) => check(name, [PASCAL], "a type is PascalCase"),
    };
  },
};

/** An absent option and one that is undefined are the same, so a plain property says it. */
const conditionalSpread = {
  create(context) {
    const refuse = (node) =>
      context.report({
        node,
        message: "Write a plain property, `name: condition ? value : undefined`, or name the list first.",
      });
    return {
      "SpreadElement > ConditionalExpression": refuse,
      "SpreadElement > LogicalExpression[operator='&&']": refuse,
    };
  },
};

export default { meta: { name: "surprisal" }, rules: { names, "conditional-spread": conditionalSpread } };
