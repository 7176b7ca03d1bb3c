"use strict";

// Loaded in front of a process of the bench: leaves what it took where SURPRISAL_BENCH_USAGE says.
const { writeFileSync } = require("node:fs");

process.on("exit", () => {
  const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
  const usage = { megabytes: maxRSS / 1024, cpu: (userCPUTime + systemCPUTime) / 1e6 };
  writeFileSync(process.env.SURPRISAL_BENCH_USAGE, JSON.stringify(usage));
});
