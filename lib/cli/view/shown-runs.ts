// The runs that are followed, as pages: the report of one, or several side by side with a report for each.
import { randomUUID } from "node:crypto";
import * as path from "node:path";
import type { LiveState } from "../../report/html/live";
import { renderLive } from "../../report/html/render";
import { renderLiveComparison } from "../../report/html/render-comparison";
import { factsOf, SPANS } from "../reporting";
import { runNames } from "../rollouts/run-names";
import type { Call } from "../shell/command";
import { optionsFrom } from "../tables/option-flags";
import { stepReader } from "./file-steps";
import { FollowedRun } from "./followed-run";

export class ShownRuns {
  readonly #runs: readonly FollowedRun[];
  readonly #names: readonly string[];
  readonly #session = randomUUID();
  readonly #made = new Map<string, { readonly revision: number; readonly html: string }>();
  #revision = 0;

  /** @param changed called when there is something new */
  constructor(
    private readonly call: Call,
    changed: () => void,
  ) {
    const { args } = call;
    this.#names = runNames(args);
    this.#runs = args.files.map(
      (given) =>
        new FollowedRun(given, stepReader(call, path.normalize(given)), () => {
          ++this.#revision;
          changed();
        }),
    );
  }

  get folders(): readonly string[] {
    return this.#runs.map(({ folder }) => folder);
  }

  /** One page of one run; else the comparison, and a page for each run. */
  get paths(): readonly string[] {
    return this.#runs.length > 1 ? ["/", ...this.#runs.map((_, i) => `/${i + 1}`)] : ["/"];
  }

  get problems(): readonly string[] {
    const several = this.#runs.length > 1;
    return this.#runs.flatMap(({ problems }, i) =>
      problems.map((problem) => (several ? `${this.#names[i]!}: ${problem}` : problem)),
    );
  }

  get state(): LiveState & { readonly files: number } {
    const sum = (of: (run: FollowedRun) => number): number => this.#runs.reduce((all, run) => all + of(run), 0);
    return {
      revision: `${this.#session} ${this.#revision}`,
      steps: sum(({ steps }) => steps.length),
      rollouts: sum(({ rollouts }) => rollouts),
      files: sum(({ fileCount }) => fileCount),
    };
  }

  async look(): Promise<void> {
    for (const run of this.#runs) await run.look();
  }

  page(place: string): string {
    const made = this.#made.get(place);
    if (made?.revision === this.#revision) return made.html;
    const html = this.#render(place);
    this.#made.set(place, { revision: this.#revision, html });
    return html;
  }

  #render(place: string): string {
    const { args } = this.call;
    const names = this.#names;
    const { files, ...state } = this.state;
    const facts = factsOf({ path: args.files.join(", "), files, ...optionsFrom(args, SPANS) });
    const title = args.text("title");
    const pages = this.paths.map((own, i) => ({ path: own, name: i === 0 ? "Side by side" : names[i - 1]! }));
    const several = this.#runs.length > 1;
    const live = { ...state, problems: this.problems, pages: several ? pages : undefined, current: place };
    if (several && place === "/")
      return renderLiveComparison(
        this.#runs.map(({ steps }, i) => ({ name: names[i]!, steps })),
        live,
        { title, facts },
      );
    const number = several ? Number(place.slice(1)) - 1 : 0;
    const { steps } = this.#runs[number]!;
    return renderLive({ steps, facts, title: several ? names[number]! : (title ?? names[0]!) }, live);
  }
}
