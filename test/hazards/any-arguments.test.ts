// Every public function, called with anything: it answers, or it throws a SurprisalError that names what is wrong. A TypeError of
// JavaScript says neither which argument nor what was expected.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as main from "../../lib";
import * as collective from "../../lib/collective";
import * as experience from "../../lib/experience";
import * as io from "../../lib/io";
import * as report from "../../lib/report";
import * as reward from "../../lib/reward";

const ENTRIES = { main, collective, experience, io, report, reward } as const;

const throwing = new Proxy(
  {},
  {
    get: () => {
      throw new TypeError("hostile");
    },
  },
);
const closed = new Proxy(
  {},
  {
    ownKeys: () => {
      throw new TypeError("hostile");
    },
    has: () => {
      throw new TypeError("hostile");
    },
  },
);
const revoked = Proxy.revocable({}, {});
revoked.revoke();
const getter = {
  get shape(): never {
    throw new TypeError("hostile");
  },
  get mask(): never {
    throw new TypeError("hostile");
  },
};

/** Wrong in most places, and right in some. */
const PLAIN: Readonly<Record<string, unknown>> = {
  undefined: undefined,
  null: null,
  "an empty object": {},
  zero: 0,
  "a fraction": -1.5,
  NaN,
  "a bigint": 3n,
  "no text": "",
  text: "ppo",
  true: true,
  "a symbol": Symbol("s"),
  "no list": [],
  "a list of nothing": [undefined, null],
  lists: [[1, 2], [3]],
  numbers: Float32Array.of(1, 2, 3, 4),
  "no numbers": new Float32Array(0),
  ids: Int32Array.of(0, 1),
  "a buffer": new ArrayBuffer(8),
  "a function": () => undefined,
  "a date": new Date(0),
  "a map": new Map([[1, 2]]),
  "an error": new Error("e"),
  rows: { shape: [2, 2] },
  "wrong rows": { shape: "2", offsets: 3, mask: "x", groups: 7, backend: 5 },
};
const HOSTILE: Readonly<Record<string, unknown>> = {
  "a proxy that throws": throwing,
  "a closed proxy": closed,
  "a revoked proxy": revoked.proxy,
  "a getter that throws": getter,
};

type Run = (...args: unknown[]) => unknown;

const functions = Object.entries(ENTRIES).flatMap(([entry, all]) =>
  Object.entries(all)
    .filter(([name, value]) => typeof value === "function" && !/^[A-Z]/.test(name))
    .map(([name, run]) => [`${entry}.${name}`, run as Run] as const),
);

/** What the package makes itself: its errors, and what ops leave on a device. */
const OWN = ["SurprisalError", "DeviceArray", "DeviceMoments", "DeviceSpans", "Stream"];

const made =
  (Made: unknown): Run =>
  (...args) =>
    new (Made as new (...args: readonly unknown[]) => object)(...args);

const classes = Object.values(ENTRIES).flatMap((all) =>
  Object.entries(all)
    .filter(([name, value]) => typeof value === "function" && /^[A-Z]/.test(name) && !OWN.includes(name))
    .map(([name, Made]) => [`new ${name}`, made(Made)] as const),
);

const INSTANCES: readonly object[] = [
  new main.Moments(Float64Array.of(2, 3, 1.5, 0.5, 1, 2)),
  new io.SamplerGapMeter(),
  new experience.ExperienceMaker({
    policy: { generate: () => Promise.resolve([]) },
    rewards: () => [],
    recipe: {},
    samplesPerPrompt: 1,
  }),
];

const methods = INSTANCES.flatMap((instance) =>
  Object.entries(Object.getOwnPropertyDescriptors(Object.getPrototypeOf(instance)))
    .filter(([name, { value }]) => typeof value === "function" && name !== "constructor")
    .map(
      ([name, { value }]) =>
        [`${instance.constructor.name}.${name}`, (...args: unknown[]) => (value as Run).apply(instance, args)] as const,
    ),
);

/** Every value alone in every place, beside each of a few that fill the others. */
function* argumentLists(values: Readonly<Record<string, unknown>>): Generator<readonly [string, readonly unknown[]]> {
  yield ["nothing", []];
  const fillers = [undefined, {}, PLAIN["numbers"], PLAIN["text"], [], PLAIN["rows"]];
  for (const [name, value] of Object.entries(values))
    for (let place = 0; place < 4; ++place)
      for (const filler of fillers)
        yield [`${name} in place ${place}`, Array.from({ length: 5 }, (_, i) => (i === place ? value : filler))];
  const list = Object.entries(values);
  for (let i = 0; i < list.length; ++i) {
    const chosen = Array.from({ length: 5 }, (_, k) => list[(i * 7 + k * k * 5 + k) % list.length]!);
    yield [chosen.map(([name]) => name).join(", "), chosen.map(([, value]) => value)];
  }
}

/** What a function throws that is no SurprisalError. */
async function complaintsOf(run: Run, values: Readonly<Record<string, unknown>>): Promise<string[]> {
  const found = new Map<string, string>();
  for (const [what, args] of argumentLists(values)) {
    try {
      const result = run(...args);
      if (result instanceof Promise) await result;
    } catch (error) {
      if (!(error instanceof main.SurprisalError)) found.set(String(error), `${what}: ${String(error)}`);
    }
  }
  return [...found.values()];
}

let folder: string;
const home = process.cwd();
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "surprisal-any-"));
  process.chdir(folder); // "ppo" is a path, too
});
afterAll(() => {
  process.chdir(home);
  rmSync(folder, { recursive: true });
  main.configure({ backend: undefined, threads: undefined });
});

test("a class takes no option that it does not know", () => {
  const unknownOption = (make: () => unknown, near: string) =>
    expect(make).toThrow(
      expect.objectContaining({ code: "ERR_SURPRISAL_OPTION", message: expect.stringContaining(near) as unknown }),
    );
  unknownOption(() => new io.SamplerGapMeter({ larg: 1 } as never), 'did you mean "large"?');
  unknownOption(() => new experience.ExperienceMaker({ reward: 1 } as never), 'did you mean "rewards"?');
  expect(new io.SamplerGapMeter({ large: 1 })).toBeInstanceOf(io.SamplerGapMeter);
});

test("there is an object of every class, whose methods are called", () => {
  expect(INSTANCES.map(({ constructor }) => `new ${constructor.name}`).sort()).toEqual(
    classes.map(([name]) => name).sort(),
  );
});

test("a method that returns a promise rejects, and does not throw", async () => {
  const [maker] = INSTANCES.slice(-1) as [experience.ExperienceMaker];
  for (const call of [
    () => maker.make(3 as never),
    () => maker.generate(3 as never),
    () => maker.evaluate(3 as never),
  ]) {
    const made: Promise<unknown> = call();
    await expect(made).rejects.toMatchObject({ code: "ERR_SURPRISAL_OPTION" });
  }
});

test.each([...functions, ...classes, ...methods])(
  "%s takes any argument, or says what is wrong with it",
  async (_, run) => {
    expect(await complaintsOf(run, PLAIN)).toEqual([]);
  },
);

test.each([...functions, ...classes, ...methods])("%s says so when reading an argument throws", async (_, run) => {
  expect(await complaintsOf(run, HOSTILE)).toEqual([]);
});
