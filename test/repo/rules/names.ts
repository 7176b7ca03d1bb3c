// What things may be called.

/** Names of frameworks, of papers and of their methods. Mathematics (GAE, V-trace) is not among them. */
const FOREIGN = [
  "verl",
  "trl",
  "openrlhf",
  "lightrft",
  "pufferlib",
  "liger",
  "vllm",
  "sglang",
  "unsloth",
  "grpo",
  "gspo",
  "ppo",
  "dapo",
  "cispo",
  "rloo",
  "remax",
  "reinforce",
  "egpo",
  "empg",
  "maxent",
];

/** Layers whose names are mathematics alone. */
function isMathematics(path: string): boolean {
  return /^(native|lib\/(core|backend|ops))\//.test(path);
}

/** The words of identifiers and paths: camelCase, snake_case and kebab-case taken apart. */
export function wordsOf(text: string): string[] {
  return text
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replace(/([A-Z]+)([A-Z][a-z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z0-9]+/);
}

/** Code without comments: a comment may name the paper of an equation, a name may not. */
export function withoutComments(source: string): string {
  return source.replace(/"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|\/\/.*|\/\*[\s\S]*?\*\//g, (token) =>
    token.startsWith("/") ? " " : token,
  );
}

export function foreignNames(path: string, source: string): string[] {
  if (!isMathematics(path)) return [];
  const words = new Set([...wordsOf(path), ...wordsOf(withoutComments(source))]);
  return FOREIGN.filter((name) => words.has(name)).map((name) => `${path}: "${name}" is a framework or paper name`);
}

/** File names: kebab-case in TypeScript and JavaScript, snake_case in C++ and CUDA. */
export function badFileName(path: string): string[] {
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (/^utils?\./.test(name)) return [`${path}: a file named utils says nothing about what it holds`];
  if (/\.(ts|mts|mjs|cjs)$/.test(name)) {
    return /^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z]+)?\.[a-z]+$/.test(name) ? [] : [`${path}: not kebab-case`];
  }
  if (/\.(h|inc|cc|cpp|cu|cuh)$/.test(name)) {
    return /^[a-z0-9]+(_[a-z0-9]+)*\.[a-z]+$/.test(name) ? [] : [`${path}: not snake_case`];
  }
  return [];
}
