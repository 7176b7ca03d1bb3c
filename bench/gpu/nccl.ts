// NCCL on the devices of this machine, a rank each (threads of this process): what arrives, to the bit, and what a call takes.
//
//   node bench/gpu/nccl.js [--backend cuda] [--ranks N] [--library FILE] [--out FILE]
//
// Exit status 3: skipped, with the reason in the last line.
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { createStream, memoryStats, SurprisalError, toDevice, whiten } from "../../lib";
import {
  type CollectiveHandle,
  createCollective,
  type DeviceCollective,
  openCollective,
  watchWorker,
} from "../../lib/collective";

interface Task {
  readonly handle: CollectiveHandle;
  readonly backend: "cuda" | "emulated";
  readonly library: string | undefined;
}

interface Found {
  readonly rank: number;
  readonly library?: string | undefined;
  /** What is not as it must be. */
  readonly wrong: readonly string[];
  /** Microseconds of the median call, by what it moves. */
  readonly microseconds?: Readonly<Record<string, number>>;
  /** Why it was not tried. */
  readonly skipped?: string;
}

/** Number i of what rank r sends. */
const sentBy = (rank: number, i: number): number => Math.fround(Math.sin(i + 1) * (rank + 1));

function check(c: DeviceCollective, { backend }: Task, say: (complaint: string) => void): void {
  const place = { backend, device: c.rank };
  const ranks = Array.from({ length: c.size }, (_, r) => r);
  const same = (what: string, got: ArrayLike<number>, want: (i: number) => number): void => {
    for (let i = 0; i < got.length; ++i)
      if (!Object.is(got[i], want(i))) return say(`${what}: element ${i} is ${got[i]}, expected ${want(i)}`);
  };
  for (const length of [1, 1000, 300_000]) {
    const values = toDevice(
      Float32Array.from({ length }, (_, i) => sentBy(c.rank, i)),
      place,
    );
    c.allGather(values).forEach((part, r) => same(`gathered from ${r}`, part.read(), (i) => sentBy(r, i)));
    same("broadcast", c.broadcast(values, c.size - 1).read(), (i) => sentBy(c.size - 1, i));
    const bits = toDevice(
      Uint16Array.from({ length }, (_, i) => (i + c.rank) % 2 ** 16),
      { ...place, dtype: "bfloat16" },
    );
    c.allGather(bits).forEach((part, r) => same(`bits from ${r}`, part.read(), (i) => (i + r) % 2 ** 16));
  }
  const sum = c.allReduce(Float64Array.of(c.rank, 0.5), "sum");
  same("sum", sum, (i) => (i === 0 ? (c.size * (c.size - 1)) / 2 : c.size / 2));
  c.barrier();
  // A function over all ranks has the bits of one process with all rows.
  const rows = (r: number): Float32Array => Float32Array.from({ length: 12 }, (_, i) => sentBy(r, i));
  const own = whiten(rows(c.rank), { shape: [3, 4], over: "all", collective: c, backend: "js" });
  const whole = Float32Array.from(ranks.flatMap((r) => Array.from(rows(r))));
  const all = whiten(whole, { shape: [3 * c.size, 4], over: "all", backend: "js" });
  same("whiten", own, (i) => all[c.rank * 12 + i]!);
  same(
    "sub-group",
    c
      .subgroup([c.rank])
      .allGather(toDevice(Int32Array.of(7), place))[0]!
      .read(),
    () => 7,
  );
}

function time(c: DeviceCollective, { backend }: Task): Record<string, number> {
  const median = (run: () => unknown): number => {
    const times = Array.from({ length: 60 }, () => {
      c.barrier();
      const start = performance.now();
      run();
      return 1e3 * (performance.now() - start);
    });
    return times.slice(10).sort((a, b) => a - b)[25]!;
  };
  const small = toDevice(Float64Array.of(1), { backend, device: c.rank });
  const large = toDevice(new Float32Array(2 ** 18), { backend, device: c.rank });
  const number = Float64Array.of(1);
  return {
    "allGather, DeviceArray of 8 B": median(() => c.allGather(small).forEach((part) => part.dispose())),
    "allGather, DeviceArray of 1 MiB": median(() => c.allGather(large).forEach((part) => part.dispose())),
    "allReduce, 8 B in host memory": median(() => c.allReduce(number, "sum")),
  };
}

async function runRank(task: Task): Promise<Found> {
  const { handle, backend, library } = task;
  const { rank } = handle;
  const wrong: string[] = [];
  const through = openCollective("workers", { handle });
  try {
    const stream = createStream({ backend, device: rank });
    const c = openCollective("nccl", { through, stream, timeout: 60_000, ...(library !== undefined && { library }) });
    check(c, task, (complaint) => wrong.push(complaint));
    const [later] = await c.allGatherAsync(toDevice(Int32Array.of(5), { backend, device: rank }));
    if (later?.read()[0] !== 5) wrong.push("the asynchronous form answers something else");
    const microseconds = time(c, task);
    const version = c.library;
    c.close();
    return { rank, library: version, wrong, microseconds };
  } catch (error) {
    if (error instanceof SurprisalError && error.code === "ERR_SURPRISAL_COLLECTIVE_LIBRARY")
      return { rank, wrong, skipped: error.message };
    throw error;
  } finally {
    through.close();
  }
}

/** How many devices there are. */
function devicesOf(backend: Task["backend"]): number {
  for (let device = 0; ; ++device)
    try {
      memoryStats({ backend, device });
    } catch {
      return device;
    }
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      backend: { type: "string", default: "cuda" },
      ranks: { type: "string" },
      library: { type: "string" },
      out: { type: "string" },
    },
  });
  const backend = values.backend === "emulated" ? "emulated" : "cuda";
  const devices = devicesOf(backend);
  if (devices === 0) {
    process.stdout.write(`skipped: no device of the ${backend} backend\n`);
    return 3;
  }
  const sizes = values.ranks === undefined ? [...new Set([1, devices])] : [Number(values.ranks)];
  const results: { ranks: number; found: Found[] }[] = [];
  for (const ranks of sizes) {
    const handles = createCollective(ranks);
    const found = await Promise.all(
      handles.map((handle) => {
        const task: Task = { handle, backend, library: values.library };
        const worker = new Worker(__filename, { workerData: task });
        watchWorker(worker, handle);
        return new Promise<Found>((done, fail) => worker.on("message", done).on("error", fail));
      }),
    );
    const [skipped] = found.flatMap((one) => one.skipped ?? []);
    if (skipped !== undefined) {
      process.stdout.write(`skipped: ${skipped}\n`);
      return 3;
    }
    results.push({ ranks, found });
    for (const { rank, library, wrong, microseconds } of found) {
      process.stdout.write(`${ranks} rank(s), rank ${rank}, ${library}: ${JSON.stringify(microseconds)}\n`);
      for (const complaint of wrong) process.stdout.write(`rank ${rank}: ${complaint}\n`);
    }
  }
  if (values.out !== undefined) writeFileSync(values.out, `${JSON.stringify(results, null, 1)}\n`);
  return results.some(({ found }) => found.some(({ wrong }) => wrong.length > 0)) ? 1 : 0;
}

if (isMainThread)
  void main().then((status) => {
    process.exitCode = status;
  });
else void runRank(workerData as Task).then((found) => parentPort!.postMessage(found));
