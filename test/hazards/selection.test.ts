// Which backend runs: nothing is silent, a name is obeyed or refused. Each case is a process of its own.
import { spawnSync } from "node:child_process";
import { distFile } from "../support/dist";

function run(program: string, env: Record<string, string> = {}) {
  const prelude = `const s = require(${JSON.stringify(distFile())});
    const gae = (o = {}) => [...s.gae(Float32Array.of(1, 2), new Float32Array(2), { shape: [1, 2], gamma: 1, lambda: 1, ...o }).advantages];
    const code = (f) => { try { f(); return "none"; } catch (e) { return e.code + " | " + e.message; } };`;
  const clean: NodeJS.ProcessEnv = { ...process.env };
  delete clean["SURPRISAL_BACKEND"];
  const { stdout, stderr, status } = spawnSync(process.execPath, ["-e", `${prelude}${program}`], {
    encoding: "utf8",
    env: { ...clean, ...env },
  });
  expect({ stderr, status }).toEqual({ stderr: "", status: 0 });
  return JSON.parse(stdout) as unknown;
}

const print = (expression: string) => `console.log(JSON.stringify(${expression}))`;

test("importing opens nothing native", () => {
  const loaded = run(print(`process.report.getReport().sharedObjects.filter((f) => /surprisal/.test(f))`));
  expect(loaded).toEqual([]);
});

test("auto takes cpu where the addon loads, else wasm, else js, and never emulated or cuda", () => {
  const info = run(print("s.backendInfo()")) as {
    requested: string;
    source: string;
    selected: string;
    backends: { name: string; available: boolean }[];
  };
  const selected = ["cpu", "wasm", "js"].find((wanted) => info.backends.some((b) => b.name === wanted && b.available));
  expect(info).toMatchObject({ requested: "auto", source: "default", selected });
});

test("without an addon and WebAssembly auto runs on js, cpu says why it cannot, and the numbers are there", () => {
  const program = `process.dlopen = () => { throw new Error("no addons today"); }; delete globalThis.WebAssembly;
    ${print("[s.backendInfo().selected, s.backendInfo().backends.find((b) => b.name === 'cpu').reason, gae(), code(() => gae({ backend: 'cpu' }))]")}`;
  const [selected, reason, numbers, refusal] = run(program) as [string, string, number[], string];
  expect(selected).toBe("js");
  expect(reason).toContain("no native addon");
  expect(numbers).toEqual([3, 2]);
  expect(refusal).toMatch(/^ERR_SURPRISAL_BACKEND_UNAVAILABLE.*"cpu" cannot run here/);
});

test("SURPRISAL_BACKEND is obeyed, configure outranks it, and a call's own choice outranks both", () => {
  const program = `const first = s.backendInfo(); s.configure({ backend: "auto" }); const second = s.backendInfo();
    ${print("[first.requested, first.source, second.requested, second.source, gae({ backend: 'js' })]")}`;
  expect(run(program, { SURPRISAL_BACKEND: "js" })).toEqual(["js", "SURPRISAL_BACKEND", "auto", "configure", [3, 2]]);
});

test("an unknown name is refused wherever it stands", () => {
  expect(run(print("code(() => gae({ backend: 'gpu' }))"))).toMatch(/^ERR_SURPRISAL_OPTION.*backend is "gpu"/);
  expect(run(print("code(() => gae())"), { SURPRISAL_BACKEND: "gpu" })).toMatch(
    /^ERR_SURPRISAL_OPTION.*SURPRISAL_BACKEND/,
  );
  expect(run(print("code(() => s.configure({ backend: 'gpu' }))"))).toMatch(/^ERR_SURPRISAL_OPTION/);
  expect(run(print("code(() => s.configure({ bakend: 'js' }))"))).toMatch(/^ERR_SURPRISAL_OPTION.*"bakend"/);
  expect(run(print("code(() => s.configure({ device: -1 }))"))).toMatch(/^ERR_SURPRISAL_OPTION.*device is -1/);
});

test("cuda without a GPU is refused with its reason, in a call, in configure and by the variable", () => {
  const info = run(print("s.backendInfo().backends.find((b) => b.name === 'cuda')")) as {
    available: boolean;
    reason?: string;
    runtime?: string;
  };
  if (info.available) {
    expect(run(print("gae({ backend: 'cuda' })"))).toEqual([3, 2]);
    return;
  }
  const refused = /^ERR_SURPRISAL_BACKEND_UNAVAILABLE/;
  const inCall = run(print("code(() => gae({ backend: 'cuda' }))")) as string;
  expect(inCall).toMatch(refused);
  expect(inCall).toContain(info.reason);
  if (info.runtime !== undefined) expect(inCall).toContain(`runtime ${info.runtime}`);
  expect(run(print("[code(() => s.configure({ backend: 'cuda' })), s.backendInfo().requested]"))).toEqual([
    expect.stringMatching(refused),
    "auto",
  ]);
  expect(run(print("code(() => gae())"), { SURPRISAL_BACKEND: "cuda" })).toMatch(refused);
});

test("of a preference the first that can run is taken: in a call, in configure and by the variable", () => {
  const noAddon = `process.dlopen = () => { throw new Error("no addons today"); }; delete globalThis.WebAssembly;`;
  const selected = "s.backendInfo().selected";
  expect(run(print(`[gae({ backend: ["js", "cpu"] }), ${selected}]`), { SURPRISAL_BACKEND: "js, cpu" })).toEqual([
    [3, 2],
    "js",
  ]);
  expect(run(`${noAddon} ${print(`[gae({ backend: ["cuda", "cpu", "js"] }), ${selected}]`)}`)).toEqual([[3, 2], "js"]);
  const configured = `s.configure({ backend: ["cuda", "cpu", "js"] });
    ${print(`[s.backendInfo().requested, s.backendInfo().source, ${selected}]`)}`;
  expect(run(`${noAddon} ${configured}`)).toEqual([["cuda", "cpu", "js"], "configure", "js"]);
  const info = run(configured) as [string[], string, string];
  const available = run(print("s.backendInfo().backends.filter((b) => b.available).map((b) => b.name)")) as string[];
  expect(info[2]).toBe(["cuda", "cpu", "js"].find((name) => available.includes(name)));
});

test("a preference of which nothing can run is refused with every reason, and a wrong one by its text", () => {
  const noAddon = `process.dlopen = () => { throw new Error("no addons today"); };`;
  const refusal = run(`${noAddon} ${print("code(() => gae({ backend: ['cuda', 'cpu'] }))")}`) as string;
  expect(refusal).toMatch(/^ERR_SURPRISAL_BACKEND_UNAVAILABLE.*"cuda" cannot run here.*"cpu" cannot run here/);
  expect(run(print("[[], ['cpu', 'gpu'], ['auto']].map((backend) => code(() => gae({ backend })))"))).toEqual(
    Array(3).fill(expect.stringMatching(/^ERR_SURPRISAL_OPTION.*backend is .*a list of names in order of preference/)),
  );
  expect(run(print("code(() => s.toDevice(new Float32Array(1), { backend: ['cpu', 'js'] }))"))).toMatch(
    /^ERR_SURPRISAL_OPTION.*"cuda" or "emulated"/,
  );
});
