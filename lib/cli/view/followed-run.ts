// The rollouts of a folder, or of one file, that a run is still writing: what changed is read again.
import { type Stats, statSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import * as path from "node:path";
import { SurprisalError } from "../../core/errors";
import { formatOfPath } from "../../io/format";
import type { ReportStep } from "../../report";
import { shownName } from "../rollouts/read-batches";
import { fileNumbers } from "../rollouts/run-files";
import type { FileSteps } from "./file-steps";

interface KnownFile extends FileSteps {
  /** Another one when the file has changed. */
  readonly stamp: string;
  /** Why the last reading failed. What an earlier one gave stays. */
  readonly problem: string | undefined;
}

const NONE: FileSteps = { steps: [], rollouts: 0, cutOff: false };

/** 2.jsonl before 10.jsonl. */
const { compare } = new Intl.Collator("en", { numeric: true });

const stampOf = ({ ino, size, mtimeMs }: Stats): string => `${ino} ${size} ${mtimeMs}`;

export class FollowedRun {
  readonly folder: string;
  /** The file to follow; undefined: every file of the folder whose name ends as rollouts do. */
  readonly #only: string | undefined;
  readonly #read: (file: string, before: FileSteps | undefined) => Promise<FileSteps>;
  readonly #changed: () => void;
  #files: ReadonlyMap<string, KnownFile> = new Map();
  #folderProblem: string | undefined;
  #looking: Promise<void> | undefined;
  /** Counts the calls of `look`. */
  #asked = 0;

  /**
   * @param given a folder or a file
   * @param read reads one file; `before` is what an earlier reading of it gave
   * @param changed called when there is something new
   * @throws SurprisalError where nothing is there
   */
  constructor(
    given: string,
    read: (file: string, before: FileSteps | undefined) => Promise<FileSteps>,
    changed: () => void,
  ) {
    const stats = statSync(given, { throwIfNoEntry: false });
    if (!stats || !(stats.isDirectory() || stats.isFile()))
      throw new SurprisalError(
        "ERR_SURPRISAL_FILE",
        `${shownName(given)} is ${stats ? "neither a folder nor a file" : "not there"}; expected the folder that a run writes its rollouts to (mkdir makes one for a run that has not begun)`,
        { name: "path", got: given, want: "a folder, or a file of rollouts", file: given },
      );
    const isFolder = stats.isDirectory();
    this.folder = isFolder ? given : path.dirname(given);
    this.#only = isFolder ? undefined : path.basename(given);
    this.#read = read;
    this.#changed = changed;
  }

  /** Where rollouts name no step, the numbers in the names of the files are the steps. */
  get steps(): readonly ReportStep[] {
    const files = this.#inOrder();
    const numbers = fileNumbers(files.map(([name]) => name));
    return files.flatMap(([, { steps }], i) =>
      steps.map((step) => (step.step === undefined ? { ...step, step: numbers[i] } : step)),
    );
  }

  get rollouts(): number {
    return this.#inOrder().reduce((sum, [, { rollouts }]) => sum + rollouts, 0);
  }

  get fileCount(): number {
    return this.#files.size;
  }

  get problems(): readonly string[] {
    const files = this.#inOrder().flatMap(([, { problem }]) => problem ?? []);
    return this.#folderProblem === undefined ? files : [this.#folderProblem, ...files];
  }

  #inOrder(): [string, KnownFile][] {
    return Array.from(this.#files).sort(([a], [b]) => compare(a, b));
  }

  /** Reads what has changed since the last look. A call during a look makes it look once more. */
  look(): Promise<void> {
    ++this.#asked;
    return (this.#looking ??= this.#lookUntilStill());
  }

  async #lookUntilStill(): Promise<void> {
    try {
      for (let asked = 0; asked < this.#asked;) {
        asked = this.#asked;
        if (await this.#lookOnce()) this.#changed();
      }
    } finally {
      this.#looking = undefined;
    }
  }

  /** Whether there is something new. */
  async #lookOnce(): Promise<boolean> {
    const problem = this.#folderProblem;
    const files = new Map<string, KnownFile>();
    let changed = false;
    for (const name of await this.#names()) {
      const known = this.#files.get(name);
      const stamp = await this.#stamp(name);
      if (stamp === undefined) continue;
      const now = known?.stamp === stamp ? known : await this.#readFile(name, stamp, known);
      files.set(name, now);
      // A line that is not whole yet is nothing new.
      const same = known?.problem === now.problem && known?.rollouts === now.rollouts && now.cutOff;
      changed ||= now !== known && !same;
    }
    changed ||= this.#files.size !== files.size || Array.from(this.#files.keys()).some((name) => !files.has(name));
    this.#files = files;
    return changed || problem !== this.#folderProblem;
  }

  async #names(): Promise<string[]> {
    this.#folderProblem = undefined;
    if (this.#only !== undefined) return [this.#only];
    try {
      const names = await readdir(this.folder);
      return names.filter((name) => !name.startsWith(".") && formatOfPath(name) !== undefined);
    } catch (error) {
      this.#folderProblem = `${this.folder} cannot be read (${(error as Error).message})`;
      return [];
    }
  }

  async #stamp(name: string): Promise<string | undefined> {
    const stats = await stat(path.join(this.folder, name)).catch(() => undefined);
    return stats?.isFile() === true ? stampOf(stats) : undefined;
  }

  async #readFile(name: string, stamp: string, known: KnownFile | undefined): Promise<KnownFile> {
    try {
      return { ...(await this.#read(path.join(this.folder, name), known)), stamp, problem: undefined };
    } catch (error) {
      if (!(error instanceof SurprisalError)) throw error;
      return { ...(known ?? NONE), stamp, problem: error.message };
    }
  }
}
