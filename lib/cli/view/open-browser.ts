// Opens an address in the reader's browser.
import { spawn } from "node:child_process";
import type { Host } from "../shell/host";

const OPENERS: Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>> = {
  darwin: ["open"],
  win32: ["cmd", "/c", "start", ""],
};

/** Says so where there is no browser to open. */
export function openBrowser(address: string, { env, stderr }: Pick<Host, "env" | "stderr">): void {
  const [program, ...args] = OPENERS[process.platform] ?? ["xdg-open"];
  const failed = (): void => {
    stderr.write(`note: ${program} cannot open a browser here; open ${address} yourself\n`);
  };
  const child = spawn(program, [...args, address], { detached: true, stdio: "ignore", env });
  child.on("error", failed).on("exit", (code) => {
    if (code !== 0 && code !== null) failed();
  });
  child.unref();
}
