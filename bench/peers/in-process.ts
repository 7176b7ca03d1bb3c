// Peers that run in this process: a form is a function from the task to its outputs.
import { peakGrowth } from "../harness/memory";
import type { PeerForm } from "./peer";
import type { PeerOutput, PeerTask } from "./task";

export type Outputs = Readonly<Record<string, PeerOutput>>;

/** A form that is timed from here; `part` where `task` is a cut of what was asked. */
export function inProcess(
  name: string,
  backend: string,
  task: PeerTask,
  run: () => Outputs | Promise<Outputs>,
  part?: number,
): PeerForm {
  let outputs: Outputs = {};
  return {
    name,
    backend,
    ...(part !== undefined && part < 1 && { part }),
    run: () => {
      const answer = run();
      if (answer instanceof Promise) return answer.then((found) => void (outputs = found));
      outputs = answer;
      return undefined;
    },
    check: () => task.check(outputs),
    extraMegabytes: () => peakGrowth(run),
  };
}

/** The task on its first rows, and which part of it that is. */
export function cutTo(task: PeerTask, rows: number): { readonly task: PeerTask; readonly part: number } {
  const all = task.numbers["rows"]!;
  return task.cut && rows < all ? { task: task.cut(rows), part: rows / all } : { task, part: 1 };
}

/** Sizes and constants of a task; absent ones are an error of the task. */
export function numbersOf<const Names extends readonly string[]>(
  { numbers }: PeerTask,
  ...names: Names
): { [K in keyof Names]: number } {
  return names.map((name) => {
    const value = numbers[name];
    if (value === undefined) throw new Error(`the task has no ${name}`);
    return value;
  }) as { [K in keyof Names]: number };
}
