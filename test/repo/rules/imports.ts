// Who may import whom. One direction, so that a layer can be read without those above it.

import { posix } from "node:path";

/** Folder of lib/ → the other folders it may import. */
const LIB_MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  core: [],
  backend: ["core"],
  io: ["core"],
  // Its processes are reached through the addon.
  collective: ["core", "backend"],
  device: ["core", "backend"],
  ops: ["core", "backend"],
  // Data, and how it is merged under the options of a call.
  presets: ["core"],
  // From here on nothing touches a backend.
  control: ["core", "collective", "ops", "presets"],
  advantage: ["core", "ops", "control", "presets"],
  loss: ["core", "ops", "control", "presets"],
  reward: ["core", "ops", "presets"],
  experience: ["core", "io", "collective", "ops", "control", "advantage", "loss", "reward"],
  report: ["core", "io", "collective", "ops", "control", "advantage", "loss", "reward"],
  cli: [
    "core",
    "backend",
    "io",
    "collective",
    "ops",
    "presets",
    "control",
    "advantage",
    "loss",
    "reward",
    "experience",
    "report",
  ],
  // lib/index.ts, the main entry: thin, so everything that has an entry of its own stays out.
  "": ["core", "backend", "device", "ops", "presets", "control", "advantage", "loss", "reward"],
};

/**
 * Folder of lib/ → folders of which it may import types, and nothing that runs. An estimator hands the
 * caller's `backend` option on to the ops and so has to name its type.
 */
const LIB_MAY_IMPORT_TYPES: Readonly<Record<string, readonly string[]>> = {
  control: ["backend"],
  advantage: ["backend"],
  loss: ["backend"],
  reward: ["backend"],
  experience: ["backend"],
  report: ["backend"],
};

/** Folder of native/ → the other folders it may include. */
const NATIVE_MAY_INCLUDE: Readonly<Record<string, readonly string[]>> = {
  include: [],
  shared: ["include"],
  cpu: ["include", "shared"],
  // The emulation takes the place of the CUDA runtime, below the kernels.
  emulation: ["include"],
  cuda: ["include", "shared", "emulation"],
  // A library of its own, which the addon opens.
  mpi: [],
  // The CPU backend is linked into the addon and reached through its table alone.
  binding: ["include", "mpi"],
  // A module with the CPU backend in it, which JavaScript calls by the binding's tables.
  wasm: ["include", "shared", "cpu", "binding"],
};

interface Import {
  readonly name: string;
  /** `import type …` or `export type …`: gone when compiled. */
  readonly typeOnly: boolean;
}

export function importsOf(source: string): Import[] {
  const statement = /\b(?:import|export)\b(\s+type\b)?[^;"'()]*?\bfrom\s*["']([^"']+)["']/g;
  const call = /(?<!["'])\b(?:import\s*\(?|require\s*\()\s*["']([^"']+)["']/g;
  return [
    ...[...source.matchAll(statement)].map((match) => ({ name: match[2]!, typeOnly: match[1] !== undefined })),
    ...[...source.matchAll(call)].map((match) => ({ name: match[1]!, typeOnly: false })),
  ];
}

export function includesOf(source: string): string[] {
  return [...source.matchAll(/^\s*#\s*include\s+["<]([^">]+)[">]/gm)].map((match) => match[1]!);
}

/** The folder of lib/ that a file lies in; "" for lib/index.ts itself. */
function libLayer(path: string): string {
  const parts = path.split("/");
  return parts.length > 2 ? parts[1]! : "";
}

/** The same for what an import names: "lib/report" is the folder's index file, "lib" and "lib/index" the main entry. */
function importedLayer(target: string): string {
  const folder = target.split("/")[1] ?? "";
  return target.split("/").length > 2 || folder in LIB_MAY_IMPORT ? folder : "";
}

/** What is wrong with the imports of one file of lib/, a sentence each. */
export function brokenImports(path: string, source: string, dependencies: readonly string[]): string[] {
  const layer = libLayer(path);
  const allowed = LIB_MAY_IMPORT[layer];
  if (!allowed) return [`${path}: lib/${layer} has no place in the order of layers`];
  const complaints: string[] = [];
  for (const { name, typeOnly } of importsOf(source)) {
    if (!name.startsWith(".")) {
      if (!name.startsWith("node:") && !dependencies.includes(name)) {
        complaints.push(`${path}: imports ${name}, which is neither node: nor a dependency`);
      }
      continue;
    }
    const target = posix.join(posix.dirname(path), name);
    if (!target.startsWith("lib/") && target !== "lib") {
      complaints.push(`${path}: imports ${name} from outside lib/`);
      continue;
    }
    const other = importedLayer(target);
    const allowedHere = typeOnly ? [...allowed, ...(LIB_MAY_IMPORT_TYPES[layer] ?? [])] : allowed;
    if (other !== layer && !allowedHere.includes(other)) {
      complaints.push(`${path}: lib/${layer || "index"} imports lib/${other || "index"}`);
    }
  }
  return complaints;
}

/** Where an include of a file of native/ leads: beside the file, or below the folders that compilers are told. */
export function includedFile(path: string, name: string, files: readonly string[]): string | undefined {
  const choices = [posix.dirname(path), "native/include", "native"].map((folder) => posix.join(folder, name));
  return choices.find((choice) => files.includes(choice));
}

/** The same for one file of native/. `files` are all native files: an include is resolved among them. */
export function brokenIncludes(path: string, source: string, files: readonly string[]): string[] {
  const layer = path.split("/")[1]!;
  const allowed = NATIVE_MAY_INCLUDE[layer];
  if (!allowed) return [`${path}: native/${layer} has no place in the order of layers`];
  const complaints: string[] = [];
  for (const name of includesOf(source)) {
    if (layer !== "binding" && /(^|\/)(napi|node_api|js_native_api|node|v8|uv)[^/]*\.h$/.test(name)) {
      complaints.push(`${path}: includes ${name}; only native/binding knows Node`);
    }
    if (!["cuda", "emulation"].includes(layer) && /(^|\/)(cuda|cub|thrust)[^/]*(\.h|\.cuh)$/.test(name)) {
      complaints.push(`${path}: includes ${name}; only native/cuda knows CUDA`);
    }
    const target = includedFile(path, name, files);
    if (!target) {
      if (name.startsWith(".")) complaints.push(`${path}: includes ${name}, which does not exist`);
      continue; // a header of the system
    }
    const other = target.split("/")[1]!;
    if (other !== layer && !allowed.includes(other)) {
      complaints.push(`${path}: native/${layer} includes native/${other}`);
    }
  }
  return complaints;
}
