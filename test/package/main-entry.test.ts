// What loading the main entry pulls in: one file of code, and nothing of what no name has asked for yet.
import { spawnSync } from "node:child_process";
import * as path from "node:path";

const ROOT = path.join(__dirname, "..", "..");

/** Runs a program in a process of its own, which prints JSON. */
function answerOf(program: string): unknown {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["-e", program], { cwd: ROOT, encoding: "utf8" });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return JSON.parse(stdout);
}

const LOADED = `const loaded = () => Object.keys(require.cache).map((file) => require("node:path").relative("dist", file).replaceAll("\\\\", "/")).sort();`;

test("loading the main entry opens two files, and an op on js no third", () => {
  const program = `${LOADED}
    const surprisal = require("surprisal");
    const first = loaded();
    surprisal.gae(Float32Array.of(1), Float32Array.of(0), { shape: [1, 1], gamma: 1, lambda: 1, backend: "js" });
    console.log(JSON.stringify([first, loaded()]));`;
  expect(answerOf(program)).toEqual([
    ["index.js", "main.js"],
    ["index.js", "main.js"],
  ]);
});

test("a module of the package runs when one of its names is first looked at", () => {
  const program = `
    const before = new Set(process.moduleLoadList);
    const surprisal = require("surprisal");
    const own = () => process.moduleLoadList.filter((name) => !before.has(name)).filter((name) => name.includes("worker_threads"));
    const untouched = own().length;
    Object.values(surprisal);
    console.log(JSON.stringify([untouched, own().length > 0]));`;
  expect(answerOf(program)).toEqual([0, true]);
});

test("another entry, and the ES module, throw the SurprisalError of the main one", () => {
  const program = `
    const { SurprisalError } = require("surprisal");
    const thrown = [];
    const attempt = (run) => { try { run(); } catch (error) { thrown.push(error instanceof SurprisalError); } };
    import("surprisal").then(async (esm) => {
      attempt(() => esm.gae([1], [2], {}));
      await require("surprisal/io").readAllRollouts("/nowhere").catch((error) => thrown.push(error instanceof SurprisalError));
      console.log(JSON.stringify([esm.SurprisalError === SurprisalError, ...thrown]));
    });`;
  expect(answerOf(program)).toEqual([true, true, true]);
});
