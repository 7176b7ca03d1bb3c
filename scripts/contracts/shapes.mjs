// What the comment of a pointer says about its memory. docs/architecture.md has the grammar.
import { readExpression } from "./expressions.mjs";
import { Refusal } from "./refusal.mjs";

const SHAPE = /^(wide )?\[([^\]]*)\]( or NULL\b)?/;
const SAME_MEMORY = /may be the memory of (\w+)/;
const EXPECTED = "a comment behind it that begins with its shape: [N, K], or `wide [N]`, then perhaps `or NULL`";

/** {wide, extents, nullable, sameMemoryAs}. `integers` and `constants` as readExpression takes them. */
export function readShape(field, integers, constants) {
  const at = { file: field.file, line: field.line };
  const match = SHAPE.exec(field.comment);
  if (!match) throw new Refusal(at, `the array ${field.name} has the comment "${field.comment}"`, EXPECTED);
  const [, wide, shape, nullable] = match;
  if (wide && field.type !== "void")
    throw new Refusal(at, `${field.name} is wide and ${field.type}`, "wide with void alone");
  return {
    wide: wide !== undefined,
    nullable: nullable !== undefined,
    extents: shape.split(",").map((text) => readExpression(text.trim(), at, integers, constants)),
    sameMemoryAs: SAME_MEMORY.exec(field.comment)?.[1],
  };
}
