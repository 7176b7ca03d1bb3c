// Objects of a class are recognised by every copy of this package in a process: a bundle may carry one beside the one that Node
// loads. They carry a mark, under a symbol that all copies look up by its name.

/** Whether an object carries the mark of a class. */
export function hasMark(value: unknown, mark: symbol): boolean {
  return typeof value === "object" && value !== null && mark in value;
}

/** Marks the objects of a class, and lets `instanceof` go by the mark. Subclasses are not marked. */
export function markedClass(type: abstract new (...args: never) => object, name: string): symbol {
  const mark = Symbol.for(`surprisal.${name}`);
  Object.defineProperty(type.prototype, mark, { value: true });
  Object.defineProperty(type, Symbol.hasInstance, {
    value(this: unknown, value: unknown): boolean {
      return this === type ? hasMark(value, mark) : Function.prototype[Symbol.hasInstance].call(this as never, value);
    },
  });
  return mark;
}
