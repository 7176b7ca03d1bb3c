// The instruction-set levels that the CPU backend has on this machine, best first, one a line.
import { createRequire } from "node:module";

process.env.SURPRISAL_CPU = "?"; // no level: the refusal lists those there are
const { backendInfo } = createRequire(import.meta.url)("../dist/index.js");
const { reason = "" } = backendInfo().backends.find(({ name }) => name === "cpu");
const [, levels = ""] = /build have (.*)$/.exec(reason) ?? [];
for (const level of levels.split(" ").filter(Boolean)) console.log(level);
