// Says when something in a folder may have changed: at the system's word, and by the clock, since not every file system sends word.
import { type FSWatcher, watch } from "node:fs";

/** Milliseconds from one look to the next where the system says nothing. */
const EVERY = 2000;

/** Calls `changed` until the function that it returns is called. */
export function watchFolder(
  folder: string,
  changed: () => void,
  { every = EVERY, open = watch }: { readonly every?: number; readonly open?: typeof watch } = {},
): () => void {
  let watcher: FSWatcher | undefined;
  const close = (): void => {
    watcher?.close();
    watcher = undefined;
  };
  const listen = (): void => {
    try {
      watcher ??= open(folder, changed).on("error", close);
    } catch {
      // The folder is away, or the system has no more watchers to give.
    }
  };
  listen();
  const clock = setInterval(() => {
    listen();
    changed();
  }, every);
  return () => {
    clearInterval(clock);
    close();
  };
}
