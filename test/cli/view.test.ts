// surprisal view: what it serves, to whom, and how it follows a run.
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  chmodSync,
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  type watch,
  writeFileSync,
  writeSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import type { FileSteps } from "../../lib/cli/view/file-steps";
import { FollowedRun } from "../../lib/cli/view/followed-run";
import { watchFolder } from "../../lib/cli/view/watch";
import { SurprisalError } from "../../lib/core/errors";
import { distFile } from "../support/dist";
import { documentOf, jsonl, surprisal, temporaryFolder } from "./in-process";
import { recordText } from "./records";
import { type News, RunningView } from "./running-view";

const folder = temporaryFolder();
const running: RunningView[] = [];
let count = 0;

/** A folder of its own for a run. */
function newRun(): string {
  const path = folder.path(`run-${++count}`);
  mkdirSync(path);
  return path;
}
function start(...args: string[]): RunningView {
  const view = new RunningView(args);
  running.push(view);
  return view;
}
/** As careful writers do: the file appears whole. */
function writeWhole(path: string, text: string): void {
  const hidden = join(dirname(path), ".partial-x");
  writeFileSync(hidden, text);
  renameSync(hidden, path);
}
const line = (step: number, text: string, reward = 1): object => ({ group: "a", prompt: "2+2?", text, reward, step });

afterEach(async () => {
  for (const view of running.splice(0)) await view.stop();
});

test("serves the report of a folder, says what cannot be read, and ends with every connection when it is stopped", async () => {
  const run = newRun();
  writeFileSync(join(run, "10.jsonl"), jsonl([line(10, "ten")]));
  writeFileSync(join(run, "2.jsonl"), jsonl([line(2, "two"), line(2, "deux", 0)]));
  writeFileSync(join(run, "config.json"), '{"learning_rate": 1}');
  writeFileSync(join(run, "notes.txt"), "not looked at");
  const view = start(run, "--title", "Run <7>");
  const { status, headers, text } = await view.ask();
  expect(status).toBe(200);
  expect(headers).toMatchObject({
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "content-security-policy": "frame-ancestors 'none'",
  });
  expect(headers).not.toHaveProperty("access-control-allow-origin");
  expect(text).toContain("<title>Run &lt;7&gt;</title>");
  expect(text.indexOf("><bdi>2.jsonl, step 2<")).toBeLessThan(text.indexOf("><bdi>10.jsonl, step 10<"));
  expect(text).toContain("config.json");
  expect(text).not.toContain("notes.txt");
  expect(view.stderr).toMatch(/^note: .*config\.json:1: .*no known dialect/);
  const news = view.news();
  expect((await news.next()).value).toMatchObject({ steps: 2, rollouts: 3 });
  const address = await view.address();
  const { code, stdout } = await view.stop();
  expect(code).toBe(0);
  expect(stdout).toBe(`${address}  ${run}: 3 rollouts in 3 files. The page follows; Ctrl-C ends it.\n`);
  expect((await news.next()).done).toBe(true);
  await expect(fetch(address)).rejects.toThrow();
});

test("answers this machine's own pages and nobody else", async () => {
  const view = start(newRun());
  const { port } = new URL(await view.address());
  const asks = async (path: string, method: string, headers: Record<string, string>) =>
    (await view.ask(path, { method, headers })).status;
  for (const host of ["127.0.0.1", "localhost", "[::1]"])
    expect([host, await asks("/", "GET", { host: `${host}:${port}` })]).toEqual([host, 200]);
  for (const host of [
    "evil.example",
    `evil.example:${port}`,
    "127.0.0.1",
    "127.0.0.1:1",
    `127.0.0.1.evil.example:${port}`,
  ])
    for (const path of ["/", "/events"])
      expect([host, path, await asks(path, "GET", { host })]).toEqual([host, path, 403]);
  for (const [site, status] of [
    ["none", 200],
    ["same-origin", 200],
    ["same-site", 403],
    ["cross-site", 403],
  ] as const)
    expect([site, await asks("/", "GET", { "sec-fetch-site": site })]).toEqual([site, status]);
  for (const method of ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"])
    expect([method, await asks("/", method, {})]).toEqual([method, 405]);
  expect((await view.ask("/", { method: "POST" })).headers.allow).toBe("GET, HEAD");
  for (const path of ["/x", "/../", "/..%2f", "/package.json", "//", "/events/x", "/eventsx", "http://127.0.0.1/", "*"])
    expect([path, await asks(path, "GET", {})]).toEqual([path, 404]);
  expect((await view.ask("/?x=1")).status).toBe(200);
  expect(await view.ask("/", { method: "HEAD" })).toMatchObject({ status: 200, text: "" });
  expect(await view.ask("/events", { method: "HEAD" })).toMatchObject({ status: 200, text: "" });
});

/** The number of a revision. */
const revision = ({ revision: text }: News): number => Number(text.split(" ")[1]);

test("follows lines, files, repairs and removals; half a line is nothing new", async () => {
  const run = newRun();
  const view = start(run);
  expect((await view.ask()).text).toContain("No rollouts yet.");
  const news = view.news();
  let last = (await news.next()).value as News;
  expect(last).toMatchObject({ steps: 0, rollouts: 0 });
  const next = async (): Promise<News> => {
    const now = (await news.next()).value as News;
    expect(revision(now)).toBe(revision(last) + 1);
    return (last = now);
  };
  writeWhole(join(run, "a.jsonl"), jsonl([line(1, "one")]));
  expect(await next()).toMatchObject({ steps: 1, rollouts: 1 });
  const more = jsonl([line(1, "uno"), line(2, "two")]);
  appendFileSync(join(run, "a.jsonl"), more.slice(0, 20));
  appendFileSync(join(run, "a.jsonl"), more.slice(20));
  expect(await next()).toMatchObject({ steps: 2, rollouts: 3 });
  writeWhole(join(run, "b.jsonl"), "<html>\n");
  expect(await next()).toMatchObject({ steps: 2, rollouts: 3 });
  expect((await view.ask()).text).toMatch(/What could not be read.*b\.jsonl/s);
  writeWhole(join(run, "b.jsonl"), jsonl([line(3, "three")]));
  expect(await next()).toMatchObject({ steps: 3, rollouts: 4 });
  const { text } = await view.ask();
  expect(text).toContain("three");
  expect(text).not.toContain("What could not be read");
  rmSync(join(run, "a.jsonl"));
  expect(await next()).toMatchObject({ steps: 1, rollouts: 1 });
  expect(view.stderr.match(/note:/g)).toHaveLength(1);
});

test("follows one file through its replacement, and leaves its neighbours alone", async () => {
  const run = newRun();
  const file = join(run, "a.log");
  writeFileSync(file, jsonl([line(1, "one")]));
  writeFileSync(join(run, "b.jsonl"), jsonl([line(1, "from the house next door")]));
  const view = start(file, "--map", "reward=reward");
  const { text } = await view.ask();
  expect(text).not.toContain("from the house next door");
  expect(text).toContain("<bdi>step 1</bdi>");
  const news = view.news();
  await news.next();
  writeWhole(file, jsonl([line(1, "one"), line(2, "two")]));
  expect((await news.next()).value).toMatchObject({ steps: 2, rollouts: 2 });
});

describe("several runs", () => {
  test("are compared live, and each has a page of its own", async () => {
    const [one, two] = [newRun(), newRun()];
    for (const [run, reward] of [
      [one, 0],
      [two, 1],
    ] as const)
      for (const step of [2, 10])
        writeFileSync(
          join(run, `${step}.jsonl`),
          jsonl([{ prompt: "2+2?", text: `from ${reward}, step ${step}`, reward }]),
        );
    const view = start(one, two, "--name", "base", "--name", "new <b>");
    const { text } = await view.ask();
    expect(text).toContain("<title>base · new &lt;b&gt;</title>");
    // Where rollouts name no step, the numbers in the names of the files are the steps.
    expect(text).toContain("base step 10, new &lt;b&gt; step 10");
    expect(text).toContain('<a href="/2#1/0">10.jsonl, rollout 1</a>');
    expect(text).toMatch(
      /<li><a href="\/" aria-current="page"><bdi>Side by side<.*href="\/1"><bdi>base<.*href="\/2">/s,
    );
    expect((await view.ask("/1")).text).toContain("from 0, step 10");
    const own = (await view.ask("/2")).text;
    expect(own).toContain("from 1, step 10");
    expect(own).toContain('href="/2" aria-current="page"');
    expect([(await view.ask("/3")).status, (await view.ask("/1/")).status]).toEqual([404, 404]);
    const news = view.news();
    expect((await news.next()).value).toMatchObject({ steps: 4, rollouts: 4 });
    writeWhole(join(two, "11.jsonl"), jsonl([{ prompt: "2+2?", text: "news", reward: 0 }]));
    expect((await news.next()).value).toMatchObject({ steps: 5, rollouts: 5 });
    expect((await view.ask()).text).toContain("new &lt;b&gt; step 11");
    writeWhole(join(one, "broken.jsonl"), "<html>\n");
    await news.next();
    expect(/<bdi>(base: [^<]*)/.exec((await view.ask()).text)?.[1]).toMatch(/broken\.jsonl:1: the line is no JSON/);
  });

  test("may be empty at first; two of one name are refused", async () => {
    const [one, two] = [newRun(), newRun()];
    const view = start(one, two);
    expect(await view.ask()).toMatchObject({
      status: 200,
      text: expect.stringContaining("0 steps, 0 rollouts") as string,
    });
    const twice = await surprisal(["view", one, one]);
    expect([twice.code, twice.stderr]).toEqual([2, expect.stringContaining("two runs are called")]);
  });

  test("one run has one page", async () => {
    expect((await start(newRun()).ask("/1")).status).toBe(404);
  });
});

test("of a file that has only grown the new lines are read, and nothing before them; else all of it", async () => {
  const run = newRun();
  const file = join(run, "a.jsonl");
  const long = "x".repeat(3000);
  writeFileSync(file, jsonl([line(1, `old ${long}`), line(2, "old")]));
  const view = start(file);
  const news = view.news();
  const next = async (): Promise<News> => (await news.next()).value as News;
  expect(await next()).toMatchObject({ steps: 2, rollouts: 2 });
  // What stands before the last kilobyte is not looked at again: a reading of it would fail.
  const handle = openSync(file, "r+");
  writeSync(handle, "{broken", 0);
  closeSync(handle);
  appendFileSync(file, jsonl([line(2, "two", 0), line(3, "three")]));
  expect(await next()).toMatchObject({ steps: 3, rollouts: 4 });
  const { text } = await view.ask();
  for (const said of ["old x", "two", "three"]) expect(text).toContain(said);
  // Both rollouts of step 2 are one group again.
  expect(text).toMatch(/data-step="1".*2 rollouts · 1 group</s);
  // A line that comes in two pieces, and a mistake with its number.
  const four = jsonl([line(4, "four")]);
  appendFileSync(file, four.slice(0, 30));
  appendFileSync(file, four.slice(30));
  let now = await next();
  while (now.rollouts < 5) now = await next();
  appendFileSync(file, "nonsense\n");
  await next();
  expect((await view.ask()).text).toContain("a.jsonl:6: the line is no JSON");
  // Another file in its place, and one that was cut.
  writeWhole(file, jsonl([line(7, "new")]));
  now = await next();
  expect(now).toMatchObject({ steps: 1, rollouts: 1 });
  truncateSync(file, 0);
  expect(await next()).toMatchObject({ steps: 0, rollouts: 0 });
});

test("a document over many lines is read whole each time", async () => {
  const run = newRun();
  const file = join(run, "a.json");
  const document = (texts: string[]): string =>
    JSON.stringify(
      texts.map((text) => line(1, text)),
      null,
      2,
    );
  writeFileSync(file, document(["one"]));
  const view = start(file);
  const news = view.news();
  expect((await news.next()).value).toMatchObject({ rollouts: 1 });
  writeFileSync(file, document(["one", "two"]));
  let now = (await news.next()).value as News;
  while (now.rollouts !== 2) now = (await news.next()).value as News;
  expect((await view.ask()).text).not.toContain("What could not be read");
});

describe("a followed run", () => {
  const fileOf = (rollouts: number, cutOff = false): FileSteps => ({ steps: [], rollouts, cutOff });

  test("reads again what has changed, and nothing else", async () => {
    const run = newRun();
    const read: string[] = [];
    let changes = 0;
    const followed = new FollowedRun(
      run,
      (file) => {
        read.push(file.slice(run.length + 1));
        return Promise.resolve(fileOf(readFileSync(file, "utf8").length));
      },
      () => ++changes,
    );
    for (const name of ["a.jsonl", "b.jsonl.gz", ".hidden.jsonl", "c.txt"]) writeFileSync(join(run, name), "x");
    mkdirSync(join(run, "folder.jsonl"));
    await followed.look();
    expect([read.splice(0).sort(), changes]).toEqual([["a.jsonl", "b.jsonl.gz"], 1]);
    await followed.look();
    expect([read, changes]).toEqual([[], 1]);
    appendFileSync(join(run, "a.jsonl"), "y");
    await followed.look();
    expect([read.splice(0), changes, followed.rollouts]).toEqual([["a.jsonl"], 2, 3]);
    rmSync(run, { recursive: true });
    await followed.look();
    expect([changes, followed.rollouts, followed.problems[0]]).toEqual([3, 0, expect.stringMatching(/ENOENT/)]);
  });

  test("a look during a look makes another one; half a line changes nothing; what was read stays where a later reading fails", async () => {
    const run = newRun();
    const file = join(run, "a.jsonl");
    let changes = 0;
    let answer: () => Promise<FileSteps> = () => Promise.resolve(fileOf(1));
    const followed = new FollowedRun(
      run,
      () => answer(),
      () => ++changes,
    );
    writeFileSync(file, "1");
    let go = (): void => undefined;
    const begun = new Promise<void>((resolve) => {
      answer = async () => {
        resolve();
        await new Promise<void>((allow) => (go = allow));
        return fileOf(1);
      };
    });
    const looks = [followed.look()];
    await begun;
    writeFileSync(file, "12");
    answer = () => Promise.resolve(fileOf(2));
    looks.push(followed.look(), followed.look());
    go();
    await Promise.all(looks);
    expect([followed.rollouts, changes]).toEqual([2, 2]);
    answer = () => Promise.resolve(fileOf(2, true));
    writeFileSync(file, "123");
    await followed.look();
    expect(changes).toBe(2);
    answer = () => Promise.reject(new SurprisalError("ERR_SURPRISAL_FILE", "a.jsonl: broken"));
    for (const text of ["1234", "12345"]) {
      writeFileSync(file, text);
      await followed.look();
      expect([followed.rollouts, followed.problems]).toEqual([2, ["a.jsonl: broken"]]);
    }
    answer = () => Promise.reject(new Error("a bug"));
    writeFileSync(file, "123456");
    await expect(followed.look()).rejects.toThrow("a bug");
  });
});

test("where the system has no word of changes, the clock looks", async () => {
  const none = (() => {
    throw new Error("ENOSPC: no more watches");
  }) as unknown as typeof watch;
  let stop = (): void => undefined;
  let looks = 0;
  await new Promise<void>((resolve) => {
    stop = watchFolder(newRun(), () => (++looks === 3 ? resolve() : undefined), { every: 1, open: none });
  });
  stop();
  expect(looks).toBe(3);
});

test("a folder that is not there, and a port that cannot be had, are refused by name", async () => {
  const missing = await surprisal(["view", folder.path("none")]);
  expect(missing).toMatchObject({ code: 1, stdout: "" });
  expect(missing.stderr).toMatch(/ERR_SURPRISAL_FILE: .*none is not there; expected the folder/);
  expect((await surprisal(["view", "/dev/null"])).stderr).toContain("is neither a folder nor a file");
  expect(await surprisal(["view", newRun(), "--port", "65536"])).toMatchObject({ code: 2 });
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  const { port } = other.address() as AddressInfo;
  const taken = await surprisal(["view", newRun(), "--port", String(port)]);
  other.close();
  expect(taken).toMatchObject({ code: 2, stdout: "" });
  expect(taken.stderr).toContain(`--port is ${port}, and another program listens there; without --port`);
});

test("--json answers one document, when the address is there", async () => {
  const run = newRun();
  writeFileSync(join(run, "a.jsonl"), recordText(3));
  const view = start(run, "--json", "--start", "[[4]]", "--end", "[[5]]");
  const { text } = await view.ask();
  expect(text).toContain("spans</small>");
  const outcome = await view.stop();
  expect(documentOf(outcome)).toMatchObject({ path: run, steps: 1, rollouts: 12, files: 1, problems: [] });
  expect(outcome.code).toBe(0);
});

describe("a process", () => {
  const main = distFile("cli", "main.js");

  test.each(["SIGINT", "SIGTERM"] as const)("that gets %s exits with 0, with a page open", async (signal) => {
    const child = spawn(process.execPath, [main, "view", newRun()], { stdio: ["ignore", "pipe", "inherit"] });
    const [printed] = (await once(child.stdout, "data")) as [Buffer];
    const { body } = await fetch(`${/^\S+/.exec(String(printed))![0]}events`);
    const reader = body!.getReader();
    await reader.read();
    const exit = once(child, "exit");
    child.kill(signal);
    expect(await exit).toEqual([0, null]);
    // The stream ends in order, or with the connection.
    await reader.read().catch(() => undefined);
  });

  const opens = process.platform === "linux" ? "" : " (skipped: another program opens browsers here)";
  (opens === "" ? test : test.skip)(`with --open hands the address to the browser${opens}`, async () => {
    const bin = newRun();
    const said = join(bin, "said");
    writeFileSync(join(bin, "xdg-open"), `#!/bin/sh\necho "$1" > "${said}.new" && mv "${said}.new" "${said}"\n`);
    chmodSync(join(bin, "xdg-open"), 0o755);
    const appeared = new Promise<void>((resolve) => {
      const stop = watchFolder(bin, () => {
        try {
          readFileSync(said);
          stop();
          resolve();
        } catch {
          // not yet
        }
      });
    });
    const child = spawn(process.execPath, [main, "view", newRun(), "--open"], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, PATH: `${bin}:${process.env["PATH"]}` },
    });
    const [printed] = (await once(child.stdout, "data")) as [Buffer];
    await appeared;
    expect(readFileSync(said, "utf8").trim()).toBe(/^\S+/.exec(String(printed))![0]);
    child.kill();
    await once(child, "exit");
    const alone = spawn(process.execPath, [main, "view", newRun(), "--open"], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, PATH: newRun() },
    });
    const [note] = (await once(alone.stderr, "data")) as [Buffer];
    expect(String(note)).toMatch(/^note: xdg-open cannot open a browser here; open http:\S+ yourself\n$/);
    alone.kill();
    await once(alone, "exit");
  });
});
