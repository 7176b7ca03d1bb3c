// What a command is: its options and its text as data, from which parsing and --help are made, and a function.
import type { ShardView } from "../shards/shard";
import type { Host } from "./host";
import type { Outputs } from "./outputs";
import type { Text } from "./printed";
import type { Progress } from "./progress";

/** A flag of a command. */
interface OptionSpec {
  /** What stands behind the flag, as --help shows it: "FILE", "NAME". Absent: the flag stands alone. */
  readonly value?: string;
  readonly short?: string;
  /** May be given several times. */
  readonly multiple?: boolean;
  /** One line of --help. */
  readonly text: string;
}

export type OptionSpecs = Readonly<Record<string, OptionSpec>>;

/** What was given, by the names of the flags. */
export class Arguments {
  constructor(
    private readonly values: Readonly<Record<string, unknown>>,
    /** What is no flag: files. */
    readonly files: readonly string[],
  ) {}

  /** Whether a flag that stands alone was given. */
  has(name: string): boolean {
    return this.values[name] === true;
  }

  text(name: string): string | undefined {
    const value = this.values[name];
    return typeof value === "string" ? value : undefined;
  }

  /** Of a flag that may be given several times. */
  texts(name: string): readonly string[] {
    const value = this.values[name];
    return Array.isArray(value) ? (value as readonly string[]) : [];
  }

  get json(): boolean {
    return this.has("json");
  }

  /** The flags that were given, but for some. */
  but(names: readonly string[]): Readonly<Record<string, unknown>> {
    return Object.fromEntries(Object.entries(this.values).filter(([name]) => !names.includes(name)));
  }

  /** The same flags with other files. */
  with(files: readonly string[]): Arguments {
    return new Arguments(this.values, files);
  }
}

/** All that a command works with. */
export interface Call extends Host {
  readonly args: Arguments;
  /** Files to write: each under another name until all are whole. */
  readonly outputs: Outputs;
  readonly progress: Progress;
  /** Where several processes share the work: the part that is computed here. */
  readonly shard?: ShardView;
}

/** What a command answers. */
export interface Answer {
  /** The document of --json. */
  readonly json: unknown;
  /** The text without --json, with its last newline. */
  readonly text: Text;
  /** Default 0. */
  readonly exitCode?: number;
  /** Another process of the same work answers. */
  readonly silent?: boolean;
  /** The command goes on behind its answer until then. To be stopped is its end, and no failure. */
  readonly until?: Promise<void>;
}

export interface Command {
  readonly name: string;
  /** Behind the name, in "usage". */
  readonly usage: string;
  /** One line, for the list of commands. */
  readonly summary: string;
  /** What it does, wrapped, without a last newline. */
  readonly about: string;
  readonly options: OptionSpecs;
  /** More options that depend on others, such as those of an estimator; `args` is the raw command line. */
  readonly moreOptions?: (
    args: readonly string[],
  ) => { readonly title: string; readonly options: OptionSpecs } | undefined;
  readonly examples: readonly string[];
  readonly files: {
    readonly least: number;
    readonly most: number;
    readonly what: string;
    /** A flag with which there need not be any. */
    readonly unless?: string;
  };
  run(call: Call): Answer | Promise<Answer>;
}
