// The example as a reader starts it.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(__dirname, "..", "..");
const TSX = join(root, "node_modules", "tsx", "dist", "cli.mjs");

test("examples/report writes a page and prints its summary", () => {
  const folder = mkdtempSync(join(tmpdir(), "surprisal-report-"));
  try {
    const file = join(folder, "out.html");
    const { status, stdout } = spawnSync(process.execPath, [TSX, join("examples", "report", "main.ts"), file], {
      cwd: root,
      encoding: "utf8",
    });
    expect(status).toBe(0);
    expect(stdout).toMatch(/^4 steps\n {2}mean reward {5}▁.* 0\.\d+ → 0\.\d+\n/);
    expect(stdout).toMatch(
      /\nstep 180 {2}128 rollouts · 16 groups · [\d,]+ tokens\n {2}▲ \d+ % of groups have equal rewards: no gradient\n/,
    );
    expect(readFileSync(file, "utf8")).toContain("made up, seeded generator");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
