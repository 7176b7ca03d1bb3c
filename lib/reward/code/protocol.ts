// What the sandbox's process and its owner tell each other. One request at a time.

export type CodeLanguage = "python" | "javascript";

export const SYSTEM_SANDBOXES = ["bubblewrap", "namespaces", "permissions"] as const;

/**
 * What holds a program that broke out of its interpreter, strongest first. `"bubblewrap"`: no network, no files but those of Node and of
 * the interpreter, no other process in sight, system calls filtered. `"namespaces"`: no network; files by Node's permissions; system calls are not filtered.
 * `"permissions"`: Node's permissions alone, which do not cover the network in all versions.
 */
export type SystemSandbox = (typeof SYSTEM_SANDBOXES)[number];

export interface SandboxLimits {
  /** Of the interpreter of one program, bytes. */
  readonly memoryBytes: number;
  /** Of what one run may print, bytes. */
  readonly outputBytes: number;
  /** Of the files that one program may write, bytes: they live in memory. */
  readonly fileBytes: number;
}

/** What the process starts with: its only argument. */
export interface SandboxStart {
  readonly language: CodeLanguage;
  /** Where the interpreter's package lies. */
  readonly folder: string;
  readonly limits: SandboxLimits;
  /** A descriptor holds the memory of a started interpreter; without one the process makes it. */
  readonly snapshot: boolean;
}

/** The first line of a request; behind it the input of a program. */
export type SandboxRequest =
  /** Runs a program with an input of its own. */
  | { readonly op: "run"; readonly source: string }
  /** Runs a program once; expressions and shared tests use its names. */
  | { readonly op: "load"; readonly source: string }
  /** Runs the setup of tests: in the process of the tests, or, `shared`, in that of the program. */
  | {
      readonly op: "begin";
      readonly setup: string;
      readonly names: readonly string[] | null;
      readonly shared: boolean;
    }
  /** Runs one test. */
  | { readonly op: "check"; readonly source: string };

/** How a request ended. Of expressions that tests evaluate: `value`, `raised` and `callable`, which go back to the tests, or another. */
export type RunStatus =
  | "ok"
  | "error"
  | "exit"
  | "memory limit"
  | "output limit"
  | "time limit"
  | "crash"
  | "cannot cross"
  | "value"
  | "raised"
  | "callable";

/** What runs a program, or tests, within the sandbox's process. Both texts and the result are as the pipe has them. */
export interface Interpreter {
  call(line: string, body: string): string;
  /** Makes it an interpreter of tests: `ask` returns the program's reply to a request. */
  serveTests(ask: (request: string) => string): void;
}

/** Of a value that crosses, in bytes of its text. */
export const VALUE_BYTES = 2 ** 24;

/** Descriptors of the process: messages, its owner's lifeline, the interpreter's memory, the filter of system calls for bubblewrap. */
export const MESSAGES = 3;
export const LIFELINE = 4;
export const SNAPSHOT = 5;
export const FILTER = 6;
