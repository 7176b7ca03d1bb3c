// Synthetic rollouts for bench/shards/main.ts: groups of eight answers to sums, as a trainer's log has them.
import { createWriteStream } from "node:fs";
import { once } from "node:events";
import { join } from "node:path";
import { finished } from "node:stream/promises";

const GROUP = 8;
const WORDS = "so we add the carry of each column to what stands in front and look at the sum again ".split(" ");

/** A small generator: the same files on every machine. */
function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

function text(length: number, random: () => number): string {
  let out = "";
  while (out.length < length) out += `${WORDS[Math.floor(random() * WORDS.length)]!} `;
  return out;
}

/**
 * @param count rollouts of all files, a multiple of 8 · files
 * @param bytes about how long a line is
 * @returns the files, in order
 */
export async function makeRollouts(folder: string, files: number, count: number, bytes: number): Promise<string[]> {
  const names: string[] = [];
  const groups = count / files / GROUP;
  for (let file = 0; file < files; ++file) {
    const name = join(folder, `step_${file}.jsonl`);
    const stream = createWriteStream(name, { highWaterMark: 2 ** 20 });
    const random = generator(file + 1);
    for (let group = 0; group < groups; ++group) {
      const [a, b] = [Math.floor(random() * 1000), Math.floor(random() * 1000)];
      let lines = "";
      for (let i = 0; i < GROUP; ++i) {
        const said = random() < 0.6 ? a + b : a + b + 1;
        lines += `${JSON.stringify({
          group: `${file}-${group}`,
          step: file,
          prompt: `What is ${a} + ${b}?`,
          text: `${text(bytes - 200, random)}\\boxed{${said}}`,
          meta: { answer: String(a + b) },
        })}\n`;
      }
      if (!stream.write(lines)) await once(stream, "drain");
    }
    stream.end();
    await finished(stream);
    names.push(name);
  }
  return names;
}
