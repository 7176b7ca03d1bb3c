// Which tests must notice a mistake in a file: those of its own area, the nearest first. A mistake that only a far suite notices
// counts as survived.

import { at } from "../build/paths.mjs";
import { nearestTests, runsDist, testsAt } from "./near.mjs";

/** Names of the tests of ops: those of one backend begin with its name. */
const ON_CPU = "^backend cpu";
const ON_EMULATED = "^backend emulated";
const NOT_NATIVE = "^(?!backend (?:cpu|wasm|emulated|cuda))";
const NOT_DEVICE = "^(?!backend (?:wasm|emulated|cuda))";

/**
 * The folder of sources, what must be rebuilt, and steps of jest arguments with their environment. Of TypeScript, `near` and
 * `unbuilt` come before: they need no build.
 */
const AREAS = [
  typed("lib/backend/js", (words) => [...opSteps(NOT_NATIVE, words), step(["test/fuzz/backends"])]),
  typed("lib/backend", () => [step(["test/core"]), step(["test/hazards", "test/device"])]),
  typed("lib/ops", (words) => [...opSteps(NOT_DEVICE, words), step(["test/device"])]),
  typed("lib/presets", () => [step(["test/repo/presets"]), step(["test/loss", "test/advantage", "test/control"])]),
  ...["advantage", "cli", "collective", "control"].map(ofItsName),
  // What it has of arrays on a device (device-array.ts) is tested with all else of them.
  typed("lib/core", (_words, path) => [step(["test/core"]), ...(/device/.test(path) ? [step(["test/device"])] : [])]),
  ...["device", "experience", "io", "loss", "report", "reward"].map(ofItsName),
  native("native/cpu", ["addon"], cpuSteps),
  native("native/shared", ["addon", "emulated"], (words) => [...cpuSteps(words), ...emulatedSteps(words)]),
  native("native/cuda", ["emulated"], emulatedSteps),
  native("native/binding", ["addon"], bindingSteps),
];

export function areaOf(path) {
  return AREAS.find(({ folder }) => path.startsWith(`${folder}/`));
}

export const FOLDERS = AREAS.map(({ folder }) => folder);

function ofItsName(name) {
  return typed(`lib/${name}`, () => [step([`test/${name}`])]);
}

function typed(folder, steps) {
  const all = (path) => steps(wordsOf(path), path);
  return {
    folder,
    rebuild: ["dist"],
    near: (path) => nearSteps(path, all(path)),
    unbuilt: (path) => all(path).flatMap((one) => only(one, () => true, LIB)),
    steps: (path) => all(path).flatMap((one) => only(one, (file) => runsDist(at(file)), [])),
  };
}

/** The package by its name is lib/ as it is, and the few programs of dist/ that tests start are those without the mistake. */
const LIB = [
  "--globals",
  JSON.stringify({ DIST_IS_STALE: false }),
  "--moduleNameMapper",
  JSON.stringify({ "^surprisal$": "<rootDir>/lib/index.ts", "^surprisal/(\\w+)$": "<rootDir>/lib/$1/index.ts" }),
];

const placesOf = ({ args }) => args.filter((arg) => arg.startsWith("test/"));
const optionsOf = ({ args }) => args.filter((arg) => !arg.startsWith("test/") && arg !== "--");

/** The step with the files that pass, if there are some. */
function only(one, passes, more) {
  const files = testsAt(placesOf(one)).filter(passes);
  return files.length > 0 ? [step([...more, ...optionsOf(one), "--", ...files], one.environment)] : [];
}

/** The first of the tests of an area, of the steps that all need dist/. */
function nearSteps(path, [first, ...others]) {
  const lists = nearestTests(path, placesOf(first), others.flatMap(placesOf));
  // In one process: starting workers takes longer than most of these tests.
  return lists.map((files) => step(["--runInBand", ...LIB, ...optionsOf(first), "--", ...files]));
}

function native(folder, rebuild, steps) {
  return { folder, rebuild, steps: (path) => steps(wordsOf(path), path), unbuilt: () => [] };
}

/** Families of ops, as the folders and files of test/ops name them. */
const FAMILIES = "correction delim divergence group linear logprob loss modulate ratio reduce scan select".split(" ");

/** The families that a path speaks of: native/cpu/simd/logprob_sums.h of logprob. */
function wordsOf(path) {
  return FAMILIES.filter((family) => path.slice(path.indexOf("/")).includes(family));
}

function opSteps(tests, words, environment = {}) {
  const named = ["--testNamePattern", tests];
  const near = words.map((word) => `test/ops/${word}`);
  return [
    ...(near.length > 0 ? [step([...named, "--", ...near], environment)] : []),
    step([...named, "--", "test/ops"], environment),
  ];
}

function cpuSteps(words) {
  return [
    ...opSteps(ON_CPU, words),
    ...opSteps(ON_CPU, words, { SURPRISAL_CPU_SIZES: "tiny" }).slice(0, 1),
    step(["test/fuzz", "test/native/pool"]),
  ];
}

function bindingSteps(_words, path) {
  const collective = /nccl|mpi|back_off/.test(path) ? [step(["test/collective"])] : [];
  return [...collective, step(["test/core", "test/hazards"]), step(["test/device", "test/abi"])];
}

function emulatedSteps(words) {
  return [...opSteps(ON_EMULATED, words), step(["test/fuzz/backends", "test/device"])];
}

function step(args, environment = {}) {
  return { args, environment };
}
