// Names of kernels as people call them.

/** The function's own name, without namespaces, template arguments and parameters. */
export function plainName(name) {
  const upTo = name.replace(/\(anonymous namespace\)::/g, "");
  return /([A-Za-z_]\w*)\s*(?:<.*>)?\s*\(/.exec(upTo.replace(/^(?:void|int)\s+/, ""))?.[1] ?? upTo;
}
