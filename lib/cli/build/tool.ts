// Another program, started and waited for; stopped with all it started when the command is.
import { spawn } from "node:child_process";
import { SurprisalError } from "../../core/errors";

export interface ToolOptions {
  readonly signal: AbortSignal;
  readonly environment?: Readonly<Record<string, string | undefined>>;
  readonly onLine?: (line: string) => void;
}

/** The last lines that say what went wrong. */
function tail(text: string): string {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const wrong = lines.filter((line) => /\berror\b|fatal|cannot|not found/i.test(line));
  return (wrong.length > 0 ? wrong.slice(0, 5) : lines.slice(-5)).join(" | ");
}

/** What it printed. Anything but exit code 0 is an error with its own words. */
export async function runTool(what: string, command: string, args: readonly string[], options: ToolOptions): Promise<string> {
  const { signal, environment = {}, onLine } = options;
  signal.throwIfAborted();
  // A group of its own, so that one signal reaches the compilers below it.
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, ...environment }, detached: process.platform !== "win32" });
  const stop = (): void => {
    try {
      if (child.pid !== undefined && process.platform !== "win32") process.kill(-child.pid, "SIGTERM");
      else child.kill();
    } catch {
      // it has ended by itself
    }
  };
  signal.addEventListener("abort", stop, { once: true });
  try {
    let text = "";
    let rest = "";
    const read = (chunk: string): void => {
      text += chunk;
      const lines = (rest + chunk).split("\n");
      rest = lines.pop()!;
      for (const line of lines) onLine?.(line);
    };
    child.stdout.setEncoding("utf8").on("data", read);
    child.stderr.setEncoding("utf8").on("data", read);
    const code = await new Promise<number | null>((resolve, reject) => {
      child.on("error", reject);
      child.on("close", resolve);
    });
    signal.throwIfAborted();
    if (code !== 0)
      throw new SurprisalError("ERR_SURPRISAL_FILE", `${what} failed with exit code ${code}: ${tail(text)}`, { op: "build", reason: text });
    return text;
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
