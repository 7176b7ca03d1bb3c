// Who else can do the work, on this machine: found once, each with the reason where it is absent.
import type { Contender } from "../harness/pairing";
import type { Errors } from "../harness/case";
import { jaxJsPeer } from "./jax-js";
import { onnxPeer } from "./onnx";
import { plainPeer } from "./plain";
import { blasPeer, numpyPeer, torchPeer } from "./python";
import type { PeerTask } from "./task";
import { tfjsPeer } from "./tfjs";

/** One way in which a peer does a task. */
export interface PeerForm extends Contender {
  readonly check: () => Errors;
  readonly backend: string;
  /** Part of the task that is timed; absent: all of it. */
  readonly part?: number;
  readonly extraMegabytes: () => Promise<number | undefined>;
}

export interface Peer {
  readonly name: string;
  /** With versions: "torch 1.13.0 (AVX-512)". */
  readonly version: string;
  /** The ways in which it does this task; none if it cannot. */
  readonly formsOf: (task: PeerTask, threads: number) => Promise<readonly PeerForm[]>;
  readonly pid?: () => number | undefined;
  /** Forgets the task and its memory. */
  readonly release: () => Promise<void>;
  readonly close: () => void;
}

export interface AbsentPeer {
  readonly name: string;
  readonly reason: string;
}

export type OpenPeer = () => Promise<Peer | AbsentPeer>;

export const PEERS: Readonly<Record<string, OpenPeer>> = {
  "plain-js": plainPeer,
  "jax-js": jaxJsPeer,
  tfjs: tfjsPeer,
  onnxruntime: onnxPeer,
  numpy: numpyPeer,
  "numpy-blas": blasPeer,
  "torch-tuned": () => torchPeer("tuned"),
  torch: () => torchPeer("stock"),
};

export interface PeerSet {
  readonly present: readonly Peer[];
  readonly absent: readonly AbsentPeer[];
  readonly formsOf: (task: PeerTask, threads: number) => Promise<readonly PeerForm[]>;
  readonly pids: () => number[];
  readonly release: () => Promise<void>;
  readonly close: () => void;
}

export async function openPeers(names: readonly string[]): Promise<PeerSet> {
  const found: (Peer | AbsentPeer)[] = [];
  for (const name of names) {
    const open = PEERS[name];
    if (!open) throw new Error(`no peer ${name}; there are ${Object.keys(PEERS).join(", ")}`);
    found.push(await open());
  }
  const present = found.filter((peer): peer is Peer => "formsOf" in peer);
  return {
    present,
    absent: found.filter((peer): peer is AbsentPeer => "reason" in peer),
    formsOf: async (task, threads) => {
      const forms: PeerForm[] = [];
      for (const peer of present) forms.push(...(await peer.formsOf(task, threads)));
      return forms;
    },
    pids: () => present.flatMap((peer) => peer.pid?.() ?? []),
    release: async () => {
      for (const peer of present) await peer.release();
    },
    close: () => present.forEach((peer) => peer.close()),
  };
}
