// Files that appear whole or not at all. What is written goes to a hidden name beside its place, and is renamed when it is whole. A
// writer that is killed leaves the hidden file behind, and the next process that writes to that folder removes it.
import { readdirSync, readlinkSync, realpathSync, rmSync, type Stats, statSync } from "node:fs";
import { hostname } from "node:os";
import { basename, dirname, join, resolve } from "node:path";

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;

/** What is there under a name, for messages; "a file" can be read at any place, and replaced. */
export function whatIs(stats: Stats): string {
  if (stats.isFile()) return "a file";
  if (stats.isDirectory()) return "a folder";
  if (stats.isFIFO()) return "a named pipe";
  return stats.isSocket() ? "a socket" : "a device";
}

/** Where a file goes that is asked for by name. */
export interface Destination {
  /** Behind all links, also where they lead to nothing. */
  readonly path: string;
  /** undefined: nothing yet. */
  readonly stats: Stats | undefined;
}

function behindLinks(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
  let link: string;
  try {
    link = readlinkSync(path);
  } catch {
    return join(realpathSync(dirname(path)), basename(path)); // nothing there
  }
  return behindLinks(resolve(dirname(path), link));
}

/** @throws Error of the system, such as ENOENT where there is no such folder */
export function destinationOf(given: string): Destination {
  const path = behindLinks(resolve(given));
  return { path, stats: statSync(path, { throwIfNoEntry: false }) };
}

const hex = (word: number): string => (word >>> 0).toString(16).padStart(8, "0");

/** FNV-1a. Not by node:crypto, which takes milliseconds to load, of every program that imports this package. */
function shortHash(text: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; ++i) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hex(hash);
}

/** The system whose processes this one can see: a machine, or a container on one. */
function system(): string {
  let processes = "";
  try {
    processes = readlinkSync("/proc/self/ns/pid");
  } catch {
    // No Linux: one for the whole machine.
  }
  return shortHash(`${hostname()} ${processes}`);
}

let prefix: string | undefined;
/** Folders that this thread wrote to, or began to. */
const folders = new Set<string>();

/** What names of this process begin with. */
const ownPrefix = (): string => (prefix ??= `.partial-${system()}-${process.pid}-`);

const NAME = /^\.partial-([0-9a-f]{8})-(\d+)-/;
const DAY_MS = 24 * 60 * 60 * 1000;

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) !== "ESRCH";
  }
}

/** Whether no process writes this file any more. Of another machine's, which cannot be asked, one that a day has not touched. */
function isAbandoned(folder: string, name: string): boolean {
  const [, where, pid] = NAME.exec(name) ?? [];
  if (where === undefined) return false;
  const age = Date.now() - (statSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
  if (!ownPrefix().startsWith(`.partial-${where}-`)) return age > DAY_MS;
  // A number of processes is used again, in a container at once.
  return Number(pid) === process.pid ? age > process.uptime() * 1000 : !isRunning(Number(pid));
}

function removeFrom(folder: string, which: (name: string) => boolean): void {
  try {
    for (const name of readdirSync(folder)) if (which(name)) rmSync(join(folder, name), { force: true });
  } catch {
    // Not ours to remove, or gone.
  }
}

/** A name beside `path` for what is not whole yet: hidden, new, and with its ending. */
export function unfinishedName(path: string): string {
  const folder = dirname(path);
  if (!folders.has(folder)) removeFrom(folder, (name) => isAbandoned(folder, name));
  folders.add(folder);
  // No longer than a name may be, whatever the file is called.
  return join(folder, `${ownPrefix()}${hex(2 ** 32 * Math.random())}-${basename(path).slice(-40)}`);
}

/** Removes all that this process has not finished, without waiting for anything. */
export function removeUnfinished(): void {
  for (const folder of folders) removeFrom(folder, (name) => name.startsWith(ownPrefix()));
}
