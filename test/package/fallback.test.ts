// The installed package where no addon can be loaded and there is no WebAssembly: the first large call says what it costs and
// what mends it, on the process's own channel for warnings.
import { type Consumer, installTarball } from "./consumer";

const NOTHING_NATIVE = `
process.dlopen = () => { throw new Error("no addons today"); };
delete globalThis.WebAssembly;
const said = [];
process.on("warning", ({ code, message }) => said.push({ code, message }));
const surprisal = require("surprisal");
const n = 1 << 20;
const large = (options) => surprisal.gae(new Float32Array(n), new Float32Array(n), { shape: [1, n], gamma: 1, lambda: 1, ...options });
`;
/** Warnings are emitted in a later turn. */
const THEN_PRINT = `setImmediate(() => console.log(JSON.stringify(said)));`;

let consumer: Consumer;
beforeAll(() => {
  consumer = installTarball();
});
afterAll(() => {
  consumer.remove();
});

function saidBy(program: string, env: Readonly<Record<string, string>> = {}): { code: string; message: string }[] {
  const text = consumer.run("fallback.cjs", `${NOTHING_NATIVE}${program}${THEN_PRINT}`, {
    NODE_NO_WARNINGS: "1", // they are read here, and need not be printed
    SURPRISAL_BACKEND: "",
    ...env,
  });
  return JSON.parse(text) as { code: string; message: string }[];
}

test("once, with a code, the factor and the command", () => {
  expect(saidBy("large(); large();")).toEqual([
    {
      code: "SURPRISAL_FALLBACK",
      message: expect.stringMatching(
        /scanGae in plain JavaScript, \d[\d.]* to \d[\d.]* times slower.*npx surprisal build/s,
      ) as string,
    },
  ]);
});

test.each([
  ["configure({ warnings: false })", "surprisal.configure({ warnings: false }); large();", {}],
  ["a call that names js", `large({ backend: "js" });`, {}],
  ["a preference that ends in js", `large({ backend: ["cuda", "cpu", "js"] });`, {}],
  ["SURPRISAL_BACKEND=cuda,js", "large();", { SURPRISAL_BACKEND: "cuda,js" }],
])("%s: nothing is said", (_, program, env) => {
  expect(saidBy(program, env)).toEqual([]);
});

test("a named backend that cannot run names the command, and doctor prints what a preference came to", () => {
  const refusal = consumer.run(
    "refusal.cjs",
    `${NOTHING_NATIVE} try { large({ backend: "cpu" }); } catch (error) { console.log(error.code, error.message); }`,
  );
  expect(refusal).toMatch(/^ERR_SURPRISAL_BACKEND_UNAVAILABLE .*npx surprisal build/s);
  const doctor = consumer.run(
    "doctor.cjs",
    `process.dlopen = () => { throw new Error("no addons today"); }; delete globalThis.WebAssembly;
     process.argv.push("doctor"); require(require("node:path").join(__dirname, "node_modules/surprisal/dist/cli/main.js"));`,
    { SURPRISAL_BACKEND: "cuda,cpu,js" },
  );
  expect(doctor).toContain('SURPRISAL_BACKEND asks for "cuda", "cpu", "js": a call on host arrays runs on js');
  expect(doctor).toContain("npx surprisal build");
});
