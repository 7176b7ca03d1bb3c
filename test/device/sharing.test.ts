// Memory of one process in another: what is read there, written there, and refused. On the emulated device, whose memory is
// pages of a file when the environment asks for it.
import { type ChildProcess, fork } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fromIpcHandle, fromPointer } from "../../lib";
import { distFile } from "../support/dist";

const root = join(__dirname, "..", "..");
const built = ["dist/index.js", "build/Release/surprisal.node", "build-emulated/libsurprisal_emulated.so"];
const missing = built.find((file) => !existsSync(join(root, file)));
const why = missing === undefined ? "" : ` (skipped: ${missing} was not built)`;

interface Answer {
  readonly value?: unknown;
  readonly error?: { readonly code: string; readonly message: string };
}

describe("refused before a device is looked for", () => {
  const place = { dtype: "float32", shape: [2], backend: "emulated" } as const;

  test.each([4096, "4096", undefined, 0n, -1n])("an address of %p", (pointer) => {
    expect(() => fromPointer(pointer as bigint, place)).toThrow(
      /^fromPointer: pointer is .*, expected an address, as a bigint/,
    );
  });

  test.each([Array.from({ length: 64 }, () => 1), new Uint8Array(63), new Int8Array(64)])(
    "a handle of %p",
    (handle) => {
      expect(() =>
        fromIpcHandle({ handle: handle as Uint8Array, byteOffset: 0, dtype: "float32", shape: [2] }),
      ).toThrow(/^fromIpcHandle: handle is .*, expected a Uint8Array of 64 bytes/);
    },
  );
});

(why ? describe.skip : describe)(`an array that two processes see${why}`, () => {
  const peers: ChildProcess[] = [];
  afterEach(() => {
    for (const peer of peers.splice(0)) peer.kill();
  });

  /** Another process; `ask` gives its answer to a command. */
  function start(
    environment: Readonly<Record<string, string>> = {},
  ): (command: string, value?: unknown) => Promise<Answer> {
    const peer = fork(join(__dirname, "sharing-peer.cjs"), [distFile("index.js")], {
      env: { ...process.env, SURPRISAL_EMULATION_IPC: "1", SURPRISAL_EMULATION_STREAMS: "delay:7", ...environment },
      serialization: "advanced",
    });
    peers.push(peer);
    return (command, value) =>
      new Promise((resolve, reject) => {
        peer.once("message", (answer) => resolve(answer as Answer));
        peer.once("exit", (code) => reject(new Error(`the peer ended with ${code} at ${command}`)));
        peer.send({ command, value });
      });
  }

  const sums = (begin: number, step: number, length: number): Float32Array =>
    Float32Array.from({ length }, (_, i) => step * (begin + i + 1));

  test("the other one sees what was asked for before the handle went out, and writes into the same bytes", async () => {
    const [owner, guest] = [start(), start()];
    await guest("read"); // loads its library ahead: a slow start would hide a handle that came too early
    const { value: handle } = await owner("export");
    expect(handle).toMatchObject({ dtype: "float32", shape: [3096], byteOffset: 4000 });
    expect((await guest("open", handle)).value).toEqual(sums(1000, 1, 3096));
    expect((await owner("done")).value).toBe(true);
    await guest("double");
    expect((await owner("read")).value).toEqual(sums(1000, 2, 3096));
    // Closing it there leaves it here, and here nobody minds that it was closed.
    expect(await guest("dispose")).toEqual({});
    expect((await owner("read")).value).toEqual(sums(1000, 2, 3096));
  });

  test("work of another stream than the array's is waited for as well", async () => {
    const [owner, guest] = [start(), start()];
    await guest("read");
    const { value: handle } = await owner("exportFromOther");
    expect((await guest("open", handle)).value).toEqual(sums(0, 2, 4096));
  });

  test("what went wrong in the work is told with the handle, not given to the other one", async () => {
    expect((await start()("exportFault")).error).toMatchObject({ code: "ERR_SURPRISAL_RANGE" });
  });

  test("an array that has its memory not to itself is refused, with the way to one that has", async () => {
    expect((await start()("exportPart")).error).toMatchObject({
      code: "ERR_SURPRISAL_OPTION",
      message: expect.stringMatching(/toIpcHandle: .*shared: true/) as string,
    });
  });

  test("a handle of this process, of one that is gone, or of a device that does not share is refused", async () => {
    const [owner, guest] = [start(), start()];
    const { value: handle } = await owner("export");
    expect((await owner("open", handle)).error!.message).toContain("fromIpcHandle");
    peers[0]!.kill();
    await new Promise((resolve) => peers[0]!.once("exit", resolve));
    expect((await guest("open", handle)).error!.message).toContain("fromIpcHandle");
    expect((await start({ SURPRISAL_EMULATION_IPC: "0" })("export")).error).toMatchObject({
      code: "ERR_SURPRISAL_BACKEND_UNAVAILABLE",
    });
  });
});
