import { readFileSync } from "node:fs";
import { type Cell, tableText, writeTable } from "../../lib/io";
import { errorCode } from "../support/error-code";
import { temporaryFolder } from "./folder";

const folder = temporaryFolder();

test("cells are quoted where they must be, numbers keep every digit", () => {
  const rows: Cell[][] = [
    ["a,b", 0.1 + 0.2, null],
    ['say "x"', -0, undefined],
    ["two\nlines", 12345678901234567890n, true],
  ];
  expect(tableText({ columns: ["name", "x", "y"], rows })).toBe(
    'name,x,y\n"a,b",0.30000000000000004,\n"say ""x""",-0,\n"two\nlines",12345678901234567890,true\n',
  );
});

test("what a spreadsheet would run is guarded where that is asked for", () => {
  const table = { columns: ["text"], rows: [["=1+1"], ["@x"], [-1], ["a"]] };
  expect(tableText(table)).toBe("text\n=1+1\n@x\n-1\na\n");
  expect(tableText(table, { guardFormulas: true })).toBe("text\n'=1+1\n'@x\n-1\na\n");
});

test("a row of another length is refused, and no file is left", async () => {
  const table = { columns: ["a", "b"], rows: [[1, 2], [3]] };
  expect(() => tableText(table)).toThrow(/rows\[1\] has 1 cells, expected 2/);
  await expect(writeTable(folder.at("t.csv"), table)).rejects.toMatchObject({ code: "ERR_SURPRISAL_SHAPE" });
  expect(() => readFileSync(folder.at("t.csv"))).toThrow(/ENOENT/);
  expect(errorCode(() => tableText({ columns: [], rows: [] }))).toBe("ERR_SURPRISAL_SHAPE");
});

test("a long table is written whole", async () => {
  function* rows(): Generator<Cell[]> {
    for (let i = 0; i < 50_000; ++i) yield [i, `row ${i}`];
  }
  const { bytes } = await writeTable(folder.at("long.csv"), { columns: ["i", "name"], rows: rows() });
  const text = readFileSync(folder.at("long.csv"), "utf8");
  expect(text).toHaveLength(bytes);
  expect(text.trimEnd().split("\n").at(-1)).toBe("49999,row 49999");
});
