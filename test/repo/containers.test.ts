// The container recipes are what Docker takes, and copy files that a release has.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { validate } from "dockerfile-utils";

const FOLDER = join(__dirname, "..", "..", "docker");
const RECIPES = readdirSync(FOLDER);
const read = (name: string): string => readFileSync(join(FOLDER, name), "utf8");

test.each(RECIPES)("%s is a recipe that Docker reads without a warning", (name) => {
  expect(validate(read(name))).toEqual([]);
});

test("the linter notices what Docker would refuse", () => {
  expect(validate("FROM node\nCOPI a b\n")).not.toEqual([]);
  expect(validate("RUN true\n")).not.toEqual([]);
});

test("both begin with one Node, which the package takes, and do not run as root", () => {
  const bases = RECIPES.map((name) => /^FROM (\S+)$/m.exec(read(name))?.[1]);
  expect(new Set(bases)).toEqual(new Set(["node:22-bookworm-slim"]));
  for (const name of RECIPES) expect(read(name)).toMatch(/^USER node$/m);
});
