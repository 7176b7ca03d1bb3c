// Which tests must notice a mistake in a file: those of its own area, the nearest first. A mistake that only a far suite notices
// counts as survived.

/** name, the folder of its sources, what must be rebuilt, and steps of jest arguments with their environment */
const AREAS = [
  native("native/cpu", ["addon"], cpuSteps),
  native("native/shared", ["addon", "emulated"], (words) => [...cpuSteps(words), ...emulatedSteps(words)]),
  native("native/cuda", ["emulated"], emulatedSteps),
  native("native/binding", ["addon"], () => [step(["test/core", "test/hazards"]), step(["test/device", "test/abi"])]),
  typed("lib/backend/js", (words) => [...opSteps("js", words), step(["test/fuzz/backends"])]),
  typed("lib/backend", () => [step(["test/core"]), step(["test/hazards", "test/device"])]),
  typed("lib/ops", (words) => [...opSteps("js", words), ...opSteps("cpu", words)]),
  typed("lib/presets", () => [step(["test/loss", "test/advantage", "test/control"])]),
  ...[
    "advantage",
    "cli",
    "collective",
    "control",
    "core",
    "device",
    "experience",
    "io",
    "loss",
    "report",
    "reward",
  ].map((name) => typed(`lib/${name}`, () => [step([`test/${name}`])])),
];

export function areaOf(path) {
  return AREAS.find(({ folder }) => path.startsWith(`${folder}/`));
}

export const FOLDERS = AREAS.map(({ folder }) => folder);

function typed(folder, steps) {
  return { folder, rebuild: ["dist"], steps: (path) => steps(wordsOf(path)) };
}

function native(folder, rebuild, steps) {
  return { folder, rebuild, steps: (path) => steps(wordsOf(path)) };
}

/** Families of ops, as the folders and files of test/ops name them. */
const FAMILIES = "correction delim divergence group linear logprob loss modulate ratio reduce scan select".split(" ");

/** The families that a path speaks of: native/cpu/simd/logprob_sums.h of logprob. */
function wordsOf(path) {
  return FAMILIES.filter((family) => path.slice(path.indexOf("/")).includes(family));
}

function opSteps(backend, words, environment = {}) {
  const named = ["--testNamePattern", `^backend ${backend}`];
  const near = words.map((word) => `test/ops/${word}`);
  return [
    ...(near.length > 0 ? [step([...named, "--", ...near], environment)] : []),
    step([...named, "--", "test/ops"], environment),
  ];
}

function cpuSteps(words) {
  return [
    ...opSteps("cpu", words),
    ...opSteps("cpu", words, { SURPRISAL_CPU_SIZES: "tiny" }).slice(0, 1),
    step(["test/fuzz", "test/native/pool"]),
  ];
}

function emulatedSteps(words) {
  return [...opSteps("emulated", words), step(["test/fuzz/backends", "test/device"])];
}

function step(args, environment = {}) {
  return { args, environment };
}
