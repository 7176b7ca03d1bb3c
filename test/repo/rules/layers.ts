// A family is whole when it has all its layers, and a source is built when a build file lists it.

/** The families: headers that declare at least one `srp_<op>_args` of their own. */
export function familiesOf(headers: ReadonlyMap<string, string>): string[] {
  const families: string[] = [];
  for (const [path, source] of headers) {
    if (/\}\s*srp_[a-z0-9_]+_args\s*;/.test(source)) families.push(path.slice(path.lastIndexOf("/") + 1, -".h".length));
  }
  return families.sort();
}

/** The ops a family header declares: `srp_scan_gae_args` → `scan_gae`. */
export function opsOf(header: string): string[] {
  return [...header.matchAll(/\}\s*srp_([a-z0-9_]+)_args\s*;/g)].map((match) => match[1]!);
}

/** Each layer of a family: one of these paths must exist (a path that ends in / is a folder with files). */
export function layersOf(family: string): readonly (readonly string[])[] {
  return [
    [`native/include/surprisal/${family}.h`],
    [`native/cpu/${family}.cpp`],
    [`native/cuda/${family}.cu`],
    [`native/binding/${family}.cc`],
    [`lib/backend/js/${family}.ts`, `lib/backend/js/${family}/`],
    [`lib/ops/${family}.ts`, `lib/ops/${family}/`],
    [`test/ops/${family}.test.ts`, `test/ops/${family}/`],
    [`docs/ops/${family}.md`],
  ];
}

export function missingLayers(family: string, files: readonly string[]): string[] {
  const exists = (path: string): boolean =>
    path.endsWith("/") ? files.some((file) => file.startsWith(path)) : files.includes(path);
  return layersOf(family)
    .filter((choices) => !choices.some(exists))
    .map((choices) => `${family}: no ${choices.join(" or ")}`);
}

/** Ops that the backend table does not hold. */
export function missingFromTable(header: string, table: string): string[] {
  return opsOf(header).filter((op) => !new RegExp(`\\(\\s*\\*\\s*${op}\\s*\\)`).test(table));
}

/** The difference between the sources that exist and those that a build file lists. */
export function unlisted(existing: readonly string[], buildFile: string, pattern: RegExp): string[] {
  const code = buildFile.replace(/#.*$/gm, "");
  const listed = [...code.matchAll(pattern)].map((match) => match[0]);
  return [
    ...existing.filter((path) => !listed.includes(path)).map((path) => `${path}: not listed`),
    ...listed.filter((path) => !existing.includes(path)).map((path) => `${path}: listed, does not exist`),
  ];
}
