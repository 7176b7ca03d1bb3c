// Names that are no plain files: links, pipes, devices; and writers that are killed.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { distFile } from "../support/dist";
import { loadControllers, saveControllers } from "../../lib";
import { readAllRollouts, readTensors, writeRollouts, writeTable, writeTensors } from "../../lib/io";
import { temporaryFolder } from "./folder";

const folder = temporaryFolder();
const dist = distFile();
const hasPipes = spawnSync("mkfifo", [folder.at("pipe")]).status === 0;

const WRITERS = {
  writeRollouts: (path: string) => writeRollouts(path, [{ text: "a" }], { format: "jsonl" }),
  writeTensors: (path: string) =>
    writeTensors(path, { x: { dtype: "uint8", shape: [1], data: Uint8Array.of(1) } }, { format: "npz" }),
  writeTable: (path: string) => writeTable(path, { columns: ["a"], rows: [[1]] }),
  saveControllers: async (path: string) => {
    await Promise.resolve();
    saveControllers(path, {}, {});
  },
};
const READERS = {
  readRollouts: (path: string) => readAllRollouts(path),
  "readRollouts of JSON Lines": (path: string) => readAllRollouts(path, { format: "jsonl" }),
  readTensors: (path: string) => readTensors(path),
  loadControllers: (path: string) => Promise.resolve().then(() => loadControllers(path, {})),
};

describe.each(Object.entries(WRITERS))("%s", (name, write) => {
  test("writes through a link, keeps the link and the permissions, and leaves nothing beside", async () => {
    const path = folder.at(name);
    mkdirSync(path);
    mkdirSync(join(path, "real"));
    writeFileSync(join(path, "real", "file"), "old");
    chmodSync(join(path, "real", "file"), 0o640);
    symlinkSync(join("real", "file"), join(path, "link"));
    symlinkSync(join("real", "later"), join(path, "link-to-nothing"));
    await write(join(path, "link"));
    await write(join(path, "link-to-nothing"));
    expect(readdirSync(path).sort()).toEqual(["link", "link-to-nothing", "real"]);
    expect(readdirSync(join(path, "real")).sort()).toEqual(["file", "later"]);
    expect(readFileSync(join(path, "link"))).toEqual(readFileSync(join(path, "real", "file")));
    expect(readFileSync(join(path, "real", "file"), "utf8")).not.toBe("old");
    expect(statSync(join(path, "real", "file")).mode & 0o777).toBe(0o640);
  });

  test("refuses a folder and a device", async () => {
    await expect(write(folder.at("."))).rejects.toThrow(/cannot be written: it is a folder/);
    if (existsSync("/dev/null")) await expect(write("/dev/null")).rejects.toThrow(/cannot be written: it is a device/);
  });
});

(hasPipes ? describe : describe.skip)("a named pipe that nobody writes to (needs mkfifo)", () => {
  test.each(Object.entries(READERS))("%s says what it is and does not wait", async (_, read) => {
    await expect(read(folder.at("pipe"))).rejects.toMatchObject({
      code: "ERR_SURPRISAL_FILE",
      message: expect.stringMatching(/pipe(:| cannot be read: it) is a named pipe/) as string,
    });
  });

  test.each(Object.entries(WRITERS))("%s leaves it where it is", async (_, write) => {
    await expect(write(folder.at("pipe"))).rejects.toThrow(/cannot be written: it is a named pipe/);
    expect(statSync(folder.at("pipe")).isFIFO()).toBe(true);
  });
});

(existsSync("/dev/zero") ? test : test.skip)("a device (/dev/zero) is refused with what to do instead", async () => {
  await expect(readAllRollouts("/dev/zero", { format: "jsonl" })).rejects.toThrow(
    /is a device, and no file .*createReadStream/,
  );
  await expect(readTensors("/dev/zero")).rejects.toThrow(/is a device/);
});

test("what a killed writer left is gone when the next one writes to the folder", async () => {
  mkdirSync(folder.at("killed"));
  const path = folder.at("killed/out.jsonl");
  const program = `
    const { writeRollouts } = require(process.argv[1] + "/io");
    async function* rollouts() { yield { text: "a" }; console.log("begun"); await new Promise((go) => setInterval(go, 1 << 30)); }
    void writeRollouts(process.argv[2], rollouts());`;
  const child = spawn(process.execPath, ["-e", program, dist, path], { stdio: ["ignore", "pipe", "inherit"] });
  await once(child.stdout, "data");
  child.kill("SIGKILL");
  await once(child, "close");
  expect(readdirSync(folder.at("killed"))).toHaveLength(1);
  await writeRollouts(path, [{ text: "b" }]);
  expect(readdirSync(folder.at("killed"))).toEqual(["out.jsonl"]);
});
