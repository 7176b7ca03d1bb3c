// What the sandbox's process and its owner tell each other. One request at a time.

export type CodeLanguage = "python" | "javascript";

export interface SandboxLimits {
  /** Of the interpreter of one program, bytes. */
  readonly memoryBytes: number;
  /** Of what one run may print, bytes. */
  readonly outputBytes: number;
  /** Of the files that one program may write, bytes: they live in memory. */
  readonly fileBytes: number;
}

export type SandboxRequest =
  /** First of all. `folder` is where the interpreter's package lies; `snapshot` what another process answered here. */
  | {
      readonly op: "start";
      readonly language: CodeLanguage;
      readonly folder: string;
      readonly limits: SandboxLimits;
      readonly snapshot: Uint8Array | null;
    }
  /** A fresh interpreter for the next program, and one for its tests where there are assertions. */
  | { readonly op: "prepare"; readonly assertions: boolean }
  /** Runs a program with an input of its own. */
  | { readonly op: "run"; readonly source: string; readonly stdin: string }
  /** Runs a program once, and makes its names known to the tests. */
  | { readonly op: "load"; readonly source: string; readonly setup: string; readonly names: readonly string[] | null }
  /** Runs assertions about the program that was loaded. */
  | { readonly op: "check"; readonly source: string };

/** How a request ended. */
export type RunStatus = "ok" | "error" | "exit" | "memory limit" | "output limit" | "crash" | "tests failed to load";

export interface SandboxReply {
  readonly status: RunStatus;
  readonly stdout?: string;
  /** `Name: message` of what was thrown. */
  readonly error?: string;
  /** Its name alone. */
  readonly type?: string;
  /** Line of the program where it was thrown. */
  readonly line?: number;
  /** The text is no program of the language. */
  readonly syntax?: boolean;
  /** Answers "start". */
  readonly snapshot?: Uint8Array;
}

/** What runs programs of one language, within the sandbox's process. */
export interface Interpreter {
  prepare(assertions: boolean): Promise<void>;
  run(source: string, stdin: string): SandboxReply;
  load(source: string, setup: string, names: readonly string[] | null): SandboxReply;
  check(source: string): SandboxReply;
}
