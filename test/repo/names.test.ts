import { badFileName, foreignNames, withoutComments, wordsOf } from "./rules/names";
import { read, repositoryFiles } from "./rules/files";

const files = repositoryFiles();

test("core, backend, ops and native code carry no framework or paper names", () => {
  const sources = files.filter((path) => /\.(ts|h|inc|cc|cpp|cu|cuh)$/.test(path));
  expect(sources.flatMap((path) => foreignNames(path, read(path)))).toEqual([]);
});

test("files are named in one way, and none is named utils", () => {
  expect(files.flatMap(badFileName)).toEqual([]);
});

describe("the rule itself", () => {
  test("takes identifiers apart", () => {
    expect(wordsOf("egpoAdvantage srp_grpo_args PPOLoss control support")).toEqual([
      "egpo",
      "advantage",
      "srp",
      "grpo",
      "args",
      "ppo",
      "loss",
      "control",
      "support",
    ]);
  });

  test("keeps strings and drops comments", () => {
    expect(withoutComments('a("x // y"); // z\n/* w */ b')).toBe('a("x // y");  \n  b');
  });

  test.each([
    ["lib/ops/grpo.ts", ""],
    ["lib/ops/group.ts", "export function trlNormalize() {}"],
    ["lib/backend/js/group.ts", 'const preset = "verl";'],
    ["native/cuda/modulate.cu", "__global__ void egpo_ratio_kernel() {}"],
    ["native/include/surprisal/scan.h", "typedef struct {} srp_ppo_args;"],
  ])("refuses names in %s: %s", (path, source) => {
    expect(foreignNames(path, source)).toHaveLength(1);
  });

  test.each([
    ["lib/advantage/grpo.ts", "export function grpoAdvantage() {}"],
    ["lib/presets/trl.ts", ""],
    ["lib/ops/scan.ts", "export function gae() {} // support, control; equation 3 of GRPO"],
  ])("allows names in %s", (path, source) => {
    expect(foreignNames(path, source)).toEqual([]);
  });

  test.each(["lib/core/utils.ts", "lib/core/deviceArray.ts", "native/cpu/Scan.cpp", "native/cuda/scan-rows.cu"])(
    "refuses the file name %s",
    (path) => {
      expect(badFileName(path)).toHaveLength(1);
    },
  );

  test.each(["lib/core/device-array.ts", "jest.config.cjs", "native/cpu/logprob_avx2.cpp", "test/ops/scan.test.ts"])(
    "allows the file name %s",
    (path) => {
      expect(badFileName(path)).toEqual([]);
    },
  );
});
