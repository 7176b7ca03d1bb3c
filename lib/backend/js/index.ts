// The JavaScript backend: always there.
import { setImmediate } from "node:timers/promises";

import { requireAttached } from "../../core/async";
import type { Backend, BackendOps, OpArgs, OpName } from "../backend";
import { correctionOps } from "./correction";
import { delimOps } from "./delim";
import { groupOps } from "./group";
import { logprobOps } from "./logprob";
import { lossOps } from "./loss";
import { modulateOps } from "./modulate";
import { ratioOps } from "./ratio";
import { reduceOps } from "./reduce";
import { scanOps } from "./scan";
import { selectOps } from "./select";
import { divergenceOps } from "./divergence";
import { linearOps } from "./linear";

const ops: BackendOps = {
  ...logprobOps,
  ...delimOps,
  ...groupOps,
  ...scanOps,
  ...ratioOps,
  ...modulateOps,
  ...reduceOps,
  ...selectOps,
  ...lossOps,
  ...correctionOps,
  ...linearOps,
  ...divergenceOps,
};

export const jsBackend: Backend = {
  name: "js",
  stops: false,
  ops,
  async runAsync<Op extends OpName>(op: Op, args: OpArgs<Op>, signal?: AbortSignal): Promise<void> {
    await setImmediate();
    signal?.throwIfAborted();
    requireAttached(op, args as unknown as Readonly<Record<string, unknown>>);
    // One op and its own arguments: a union the compiler cannot relate by itself.
    (ops[op] as (args: OpArgs<Op>) => void)(args);
  },
};
