// Hidden names of files that are being written, and what becomes of those whose writer is gone.
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readlinkSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { destinationOf, removeUnfinished, unfinishedName } from "../../lib/core/unfinished-file";
import { temporaryFolder } from "../io/folder";

const folder = temporaryFolder();
let count = 0;

/** A folder that this process has not written to. */
function fresh(): string {
  const path = folder.at(`folder-${++count}`);
  mkdirSync(path);
  return path;
}

/** The name of a file that process `pid` of the system `where` writes; unless told, this one. */
function nameOf(pid: number, where?: string): string {
  const [own] = /(?<=^\.partial-)[^-]+/.exec(basename(unfinishedName(join(fresh(), "x"))))!;
  return `.partial-${where ?? own}-${pid}-0badcafe-x.jsonl`;
}

/** What is left of files after a writer has come to their folder. `old`: not touched for two days. */
function leftOf(names: readonly string[], old: readonly string[] = []): string[] {
  const path = fresh();
  for (const name of names) writeFileSync(join(path, name), "");
  const before = Date.now() / 1000 - 2 * 24 * 60 * 60;
  for (const name of old) utimesSync(join(path, name), before, before);
  unfinishedName(join(path, "new.jsonl"));
  return readdirSync(path);
}

/** The number of a process that has ended. */
const ended = (): number => spawnSync(process.execPath, ["-e", ""]).pid;

test("a file of a process that has ended is removed; those of running ones and what is not ours stay", () => {
  const kept = [nameOf(process.ppid), nameOf(process.pid), ".partial-other", "x.jsonl", ".x.jsonl.swp"];
  expect(leftOf([nameOf(ended()), ...kept]).sort()).toEqual([...kept].sort());
});

test("of another machine or container, what a day has not touched is removed", () => {
  const [young, old] = [nameOf(1, "00000000"), nameOf(2, "00000000")];
  expect(leftOf([young, old], [old])).toEqual([young]);
});

test("a file from before this process is of another one that had its number", () => {
  const name = nameOf(process.pid);
  expect(leftOf([name], [name])).toEqual([]);
});

test("names are new, hidden, in the same folder, with the same ending, and no longer than a name may be", () => {
  const path = join(fresh(), `${"long".repeat(60)}.jsonl.gz`);
  const names = [unfinishedName(path), unfinishedName(path)];
  expect(new Set(names).size).toBe(2);
  for (const name of names) {
    expect(dirname(name)).toBe(dirname(path));
    expect(basename(name)).toMatch(/^\.partial-.*\.jsonl\.gz$/);
    expect(basename(name).length).toBeLessThan(100);
  }
});

test("at the end of a process all that it has not finished is removed, and nothing else", () => {
  const path = fresh();
  writeFileSync(unfinishedName(join(path, "a.jsonl")), "");
  const other = nameOf(process.ppid);
  writeFileSync(join(path, other), "");
  removeUnfinished();
  expect(readdirSync(path)).toEqual([other]);
});

test("a link leads to the file that is replaced, also where there is none yet; a circle of links is an error", () => {
  const path = fresh();
  mkdirSync(join(path, "real"));
  symlinkSync("real/file", join(path, "link"));
  symlinkSync("link", join(path, "link-to-link"));
  const real = join(destinationOf(join(path, "real")).path, "file");
  expect(destinationOf(join(path, "link-to-link"))).toEqual({ path: real, stats: undefined });
  writeFileSync(real, "x");
  expect(destinationOf(join(path, "link-to-link"))).toMatchObject({ path: real, stats: { size: 1 } });
  symlinkSync("circle", join(path, "circle"));
  expect(() => destinationOf(join(path, "circle"))).toThrow(/ELOOP/);
  expect(readlinkSync(join(path, "circle"))).toBe("circle");
});
