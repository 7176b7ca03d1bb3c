// A family is whole when it has all its layers. Build files take whole folders of sources, and name none.

/** The families: headers that declare at least one `srp_<op>_args` of their own. */
export function familiesOf(headers: ReadonlyMap<string, string>): string[] {
  const families: string[] = [];
  for (const [path, source] of headers) {
    if (/\}\s*srp_[a-z0-9_]+_args\s*;/.test(source)) families.push(path.slice(path.lastIndexOf("/") + 1, -".h".length));
  }
  return families.sort();
}

/** Each layer of a family: one of these paths must exist (a path that ends in / is a folder with files). */
function layersOf(family: string): readonly (readonly string[])[] {
  return [
    [`native/include/surprisal/${family}.h`],
    [`native/shared/${family}.h`],
    [`native/cpu/${family}.cpp`],
    [`native/cuda/${family}.cu`],
    [`lib/backend/js/${family}.ts`, `lib/backend/js/${family}/`],
    [`lib/ops/${family}.ts`, `lib/ops/${family}/`],
    [`test/oracle/${family}.ts`],
    [`test/ops/${family}.test.ts`, `test/ops/${family}/`],
    [`test/native/kernels/${family}.cpp`],
    [`bench/accuracy/cases/${family}.ts`],
    [`bench/gpu/python/torch_ops/${family}.py`],
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

/** Sources that a build file names one by one, though it takes whole folders. */
export function namedSources(buildFile: string): string[] {
  return [...buildFile.matchAll(/native\/\w+\/\w+\.(?:cc|cpp|cu)\b/g)].map((match) => match[0]);
}
