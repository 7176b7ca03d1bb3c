// Files that import or include each other: such files cannot be read one after the other.
import { posix } from "node:path";
import { importsOf, includedFile, includesOf } from "./imports";

type Sources = ReadonlyMap<string, string>; // text by path
type Graph = ReadonlyMap<string, readonly string[]>; // what each file needs

/** What the files of lib/ import, types included. */
export function importGraph(sources: Sources): Graph {
  const targets = (path: string, text: string): string[] => {
    const names = importsOf(text).map(({ name }) => name);
    const bases = names.filter((name) => name.startsWith(".")).map((name) => posix.join(posix.dirname(path), name));
    return bases.flatMap((base) => [`${base}.ts`, `${base}/index.ts`].filter((file) => sources.has(file)));
  };
  return new Map([...sources].map(([path, text]) => [path, targets(path, text)]));
}

/** What the files of native/ include of each other. */
export function includeGraph(sources: Sources): Graph {
  const files = [...sources.keys()];
  const targets = (path: string, text: string): string[] =>
    includesOf(text).flatMap((name) => includedFile(path, name, files) ?? []);
  return new Map([...sources].map(([path, text]) => [path, targets(path, text)]));
}

/** The groups of files that reach each other. */
export function circlesOf(graph: Graph): string[][] {
  const paths = [...graph.keys()].sort();
  const reach = new Map(
    paths.map((path) => {
      const seen = new Set<string>();
      const open = [path];
      for (let next = open.pop(); next !== undefined; next = open.pop())
        for (const target of graph.get(next)!) if (!seen.has(target)) open.push((seen.add(target), target));
      return [path, seen];
    }),
  );
  const circleOf = (path: string): string[] =>
    paths.filter((other) => reach.get(path)!.has(other) && reach.get(other)!.has(path));
  return paths.map(circleOf).filter((circle, i) => circle[0] === paths[i]);
}
