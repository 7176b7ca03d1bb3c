// Who else can do the work, on this machine: found once, each with the reason where it is absent.
import { jaxJsPeer } from "./jax-js";
import { onnxPeer } from "./onnx";
import type { AbsentPeer, OpenPeer, Peer, PeerForm, PeerSet } from "./peer";
import { plainPeer } from "./plain";
import { blasPeer, numbaPeer, numpyPeer, torchPeer } from "./python";
import { tfjsPeer } from "./tfjs";

export const PEERS: Readonly<Record<string, OpenPeer>> = {
  "plain-js": plainPeer,
  "jax-js": jaxJsPeer,
  tfjs: tfjsPeer,
  onnxruntime: onnxPeer,
  numpy: numpyPeer,
  "numpy-blas": blasPeer,
  numba: numbaPeer,
  "torch-tuned": () => torchPeer("tuned"),
  torch: () => torchPeer("stock"),
};

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
