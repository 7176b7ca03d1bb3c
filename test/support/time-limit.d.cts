/** Takes what a function of node:child_process takes: (file, args?, options?) or (command, options?). */
type Start = (...args: unknown[]) => unknown;

export function limited(start: Start, timeout?: number): Start;
