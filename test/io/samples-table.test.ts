// docs/io/README.md has a table of what each dialect holds, with the samples that show it; here it is made of the samples.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Dialect, readAllRollouts, type Rollout } from "surprisal/io";
import { DIALECTS } from "../../lib/io/dialects";

const folder = join(__dirname, "samples");
/** Arrays of every numpy type, and no rollouts. */
const NO_ROLLOUTS = ["README.md", "kinds.npz"];
const BEGIN = "<!-- samples: test/io/samples-table.test.ts -->\n\n";
const END = "\n<!-- end -->";

const CELLS: Readonly<Record<string, (rollout: Rollout) => boolean>> = {
  text: ({ text }) => text !== undefined,
  "ids of tokens": ({ tokenIds }) => tokenIds !== undefined,
  "texts of tokens": ({ tokens }) => tokens !== undefined,
  "log-probs": ({ samplerLogProbs }) => samplerLogProbs !== undefined,
  rewards: ({ reward, rewards }) => reward !== undefined || rewards !== undefined,
  groups: ({ group }) => group !== undefined,
};

interface Sample {
  readonly name: string;
  readonly dialect: Dialect;
  readonly rollouts: readonly Rollout[];
}

async function samples(): Promise<Sample[]> {
  const names = readdirSync(folder).filter((name) => !NO_ROLLOUTS.includes(name));
  return Promise.all(
    names.sort().map(async (name) => {
      const { rollouts, report } = await readAllRollouts(join(folder, name), { malformed: "skip" });
      expect([name, rollouts.length]).not.toEqual([name, 0]);
      return { name, dialect: report.dialect!, rollouts };
    }),
  );
}

/** A row for each dialect: under each heading the samples of which a rollout has that. */
function tableOf(all: readonly Sample[]): string {
  const rows = [...DIALECTS].sort().map((dialect) => {
    const own = all.filter((sample) => sample.dialect === dialect);
    expect([dialect, own.length]).not.toEqual([dialect, 0]);
    const cells = Object.values(CELLS).map((has) => {
      const names = own.filter(({ rollouts }) => rollouts.some(has)).map(({ name }) => `\`${name}\``);
      return names.length === 0 ? "—" : names.join(", ");
    });
    return [`\`${dialect}\``, ...cells];
  });
  const heads = ["dialect", ...Object.keys(CELLS)];
  return [heads, heads.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |\n`).join("");
}

test("the table of dialects names every sample for what it holds, and nothing that none of them holds", async () => {
  const page = readFileSync(join(__dirname, "..", "..", "docs", "io", "README.md"), "utf8");
  expect(page.split(BEGIN)[1]?.split(END)[0]).toBe(tableOf(await samples()));
});

test("README.md of the samples says of each where it is from", () => {
  const listed = readFileSync(join(folder, "README.md"), "utf8");
  const unlisted = readdirSync(folder).filter((name) => name !== "README.md" && !listed.includes(`\`${name}\``));
  expect(unlisted).toEqual([]);
});
