// Object spread as Object.assign, for what runs once a call. V8 copies `{ ...a }` fast, but what is added to such a copy goes in
// one slow transition after another: `{ ...a, ...b }` of six and seven properties takes 11 µs on Node 20, Object.assign({}, a, b)
// 0.4 µs. They differ for setters and for a property `__proto__` of a source, which none of these objects has.

import ts from "typescript";

/** A transformer for ts.transpileModule. */
export const objectSpreadAsAssign = ({ factory }) => (file) => {
  const visit = (node) => {
    const below = ts.visitEachChild(node, visit, undefined);
    return ts.isObjectLiteralExpression(below) && addsToSpread(below) ? assign(below) : below;
  };
  /** A literal that is one spread alone is the copy that is fast; of an accessor, assign would take the value. */
  const addsToSpread = ({ properties }) => properties.length > 1 && properties.some(ts.isSpreadAssignment) && !properties.some(ts.isAccessor);
  const assign = ({ properties }) => {
    const parts = [[]];
    for (const property of properties) {
      if (ts.isSpreadAssignment(property)) parts.push(property.expression, []);
      else parts.at(-1).push(property);
    }
    const [first, ...rest] = parts.filter((part, i) => i === 0 || !Array.isArray(part) || part.length > 0);
    const literal = (part) => (Array.isArray(part) ? factory.createObjectLiteralExpression(part) : part);
    const callee = factory.createPropertyAccessExpression(factory.createIdentifier("Object"), "assign");
    return factory.createCallExpression(callee, undefined, [first, ...rest].map(literal));
  };
  return ts.visitNode(file, visit);
};
