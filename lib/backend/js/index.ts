// The JavaScript backend: always there.
import type { Backend } from "../backend";
import { onThisThread } from "../event-loop";
import { jsOps } from "./ops";

export const jsBackend: Backend = { name: "js", stops: false, ops: jsOps, runAsync: onThisThread(jsOps) };
