// What a run of the bundle left in its folder, read and checked.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseLines, type ResultLine } from "../record";

type PartState = "passed" | "failed" | "skipped" | "timeout";

interface Part {
  readonly name: string;
  readonly state: PartState;
  readonly seconds: number;
  /** The last line of its log that says something. */
  readonly says: string;
}

/** One op against torch, as compare.py writes it. */
export interface TorchCheck {
  readonly op: string;
  readonly title: string;
  readonly passed: boolean;
  readonly repeatable?: boolean;
  readonly error?: string;
  /** By output: the largest part of its bound that a difference took, and that difference. */
  readonly outputs?: Readonly<Record<string, { readonly share: number; readonly largest: number }>>;
}

export interface TorchResults {
  readonly skipped?: string;
  readonly torch?: string;
  readonly repeats?: number;
  readonly checks?: readonly TorchCheck[];
  readonly missing?: readonly string[];
}

interface Card {
  readonly date: string;
  readonly commit: string;
  readonly machine: string;
  readonly versions: Readonly<Record<string, string>>;
  readonly driver: Readonly<Record<string, string>>;
  readonly computeCapability: string;
}

export interface GpuResults {
  readonly backend: string;
  readonly card: Card;
  readonly parts: readonly Part[];
  readonly suite?: { readonly passed: number; readonly failed: number; readonly skipped: number };
  readonly torch?: TorchResults;
  /** Beside torch, through the C ABI. */
  readonly bench: readonly ResultLine[];
  /** From Node, on DeviceArrays. */
  readonly node: readonly ResultLine[];
}

const STATES: readonly string[] = ["passed", "failed", "skipped", "timeout"];

function json(folder: string, name: string): unknown {
  const file = join(folder, name);
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;
}

function lines(folder: string, name: string): ResultLine[] {
  const file = join(folder, name);
  return existsSync(file) ? parseLines(readFileSync(file, "utf8"), name) : [];
}

function lastLine(folder: string, name: string): string {
  const file = join(folder, `${name}.log`);
  if (!existsSync(file)) return "";
  const lines = readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line.trim() !== "");
  return (lines.at(-1) ?? "").trim();
}

function readParts(folder: string): Part[] {
  const file = join(folder, "parts.tsv");
  if (!existsSync(file)) throw new Error(`${folder} has no parts.tsv: is it what run.sh wrote?`);
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const [name, state, , seconds] = line.split("\t");
      if (name === undefined || state === undefined || !STATES.includes(state))
        throw new Error(`${file}: "${line}" is no part`);
      return { name, state: state as PartState, seconds: Number(seconds), says: lastLine(folder, name) };
    });
}

/** @throws Error that names the file for what is not there or cannot be read. */
export function readGpuResults(folder: string): GpuResults {
  const parts = readParts(folder);
  const card = json(folder, "card.json") as Card | undefined;
  if (!card) throw new Error(`${folder} has no card.json: run.sh writes it first`);
  const [bench, node] = [lines(folder, "bench.jsonl"), lines(folder, "node.jsonl")];
  const suite = json(folder, "suite-counts.json") as GpuResults["suite"];
  const torch = json(folder, "torch.json") as TorchResults | undefined;
  const known = card.computeCapability === "" || card.machine.startsWith("emulated") ? "emulated" : "cuda";
  const backend = [...bench, ...node].find((line) => line.backend !== known)?.backend ?? known;
  return { backend, card, parts, ...(suite && { suite }), ...(torch && { torch }), bench, node };
}
