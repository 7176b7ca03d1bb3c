// The C headers are the only place where an args struct is written: what is generated from them is there as they would make it, and
// a header that cannot be read is refused with the line and what was expected there.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "./rules/files";

test("everything generated from the headers is up to date", () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, "scripts", "contracts.mjs"), "--check"], {
    cwd: root,
    encoding: "utf8",
  });
  expect({ status, stderr, stdout }).toEqual({
    status: 0,
    stderr: "",
    stdout: expect.stringMatching(/^contracts: \d+ files, 0 out of date\n$/) as string,
  });
});

/** A header of one op, whose struct has these lines behind size and dtype. */
const header = (...lines: string[]): string => `#define SRP_SCAN

enum { SRP_SUMS = 2, SRP_F32 = 1, SRP_F64 = 4 };

typedef struct {
  double rate;
} srp_rates;

typedef struct {
  uint32_t size;
  int32_t dtype; /* SRP_F32 or SRP_F64: of values */
${lines.map((line) => `  ${line}`).join("\n")}
} srp_scan_sum_args;
`;

const HEADERS: Readonly<Record<string, string>> = {
  good: header(
    "const void *values, *weights; /* [N, K] or NULL = 1 */",
    "int64_t N; /* independent rows */",
    "int64_t K;",
    "srp_rates rates;",
    "double* sums; /* [N, SRP_SUMS + K] */",
    "void* out; /* [N, K], may be the memory of values */",
  ),
  "no shape": header("const void* values;", "int64_t n;"),
  "a shape behind other words": header("const void* values; /* all of them: [n] */", "int64_t n;"),
  "an unknown size": header("const void* values; /* [n] */"),
  "an operator": header("const void* values; /* [n - 1] */", "int64_t n;"),
  "a number that is no integer": header("const void* values; /* [rate] */", "double rate;"),
  "wide float": header("const float* values; /* wide [n] */", "int64_t n;"),
  "an element type": header("const char* values; /* [n] */", "int64_t n;"),
  "a pointer to a pointer": header("const void** values; /* [n] */", "int64_t n;"),
  "a scalar type": header("float rate;"),
  "memory of what is no input": header("void* out; /* [n], may be the memory of values */", "int64_t n;"),
  "memory of another shape": header(
    "const void* values; /* [n] */",
    "int64_t n;",
    "void* out; /* [n, 2], may be the memory of values */",
  ),
  "rows that do not come first": header(
    "const void* values; /* [K, N] */",
    "int64_t N; /* independent rows */",
    "int64_t K;",
  ),
  "dtypes in words": header().replace("SRP_F32 or SRP_F64: of values", "float32"),
  "no size": header().replace("uint32_t size", "uint32_t bytes"),
  "no C": header("const void* values /* [n] */", "int64_t n;"),
  "an enumerator that is computed": header().replace("SRP_SUMS = 2", "SRP_SUMS = 1 << 1"),
};

/** What a program prints that imports from scripts/contracts. */
function printed(program: string): unknown {
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", program], {
    cwd: root,
    encoding: "utf8",
  });
  if (stderr) throw new Error(stderr);
  return JSON.parse(stdout);
}

const script = (name: string): string => JSON.stringify(pathToFileURL(join(root, "scripts/contracts", name)).href);

/** What each header is read as: an op of it, or the refusal. */
function readings(): Record<string, string> {
  const program = `
import { readContracts } from ${script("model.mjs")};
const said = {};
for (const [name, text] of Object.entries(${JSON.stringify(HEADERS)})) {
  try {
    said[name] = JSON.stringify(readContracts([{ file: "scan.h", text }]).ops[0]);
  } catch (error) {
    said[name] = error.name === "Refusal" ? error.message : error.stack;
  }
}
console.log(JSON.stringify(said));
`;
  return printed(program) as Record<string, string>;
}

describe("reading a header", () => {
  const said = readings();

  test("a struct of every kind of field", () => {
    expect(JSON.parse(said["good"]!)).toMatchObject({
      name: "scan_sum",
      family: "scan",
      dtypes: ["SRP_F32", "SRP_F64"],
      rows: "N",
      numbers: [{ path: "dtype" }, { path: "N" }, { path: "K" }, { path: "rates.rate" }],
      arrays: [
        { name: "values", output: false, nullable: true, extents: [{ field: "N" }, { field: "K" }] },
        { name: "weights", output: false, nullable: true },
        {
          name: "sums",
          output: true,
          nullable: false,
          element: "SRP_F64",
          extents: [{ field: "N" }, { operator: "+", left: { constant: "SRP_SUMS", value: 2 }, right: { field: "K" } }],
        },
        { name: "out", sameMemoryAs: "values" },
      ],
    });
  });

  test.each([
    ["no shape", /^scan\.h:12: the array values has the comment ""; expected .*\[N, K\]/],
    ["a shape behind other words", /^scan\.h:12: .*all of them: \[n\]/],
    ["an unknown size", /^scan\.h:12: `n`, no integer of the struct, in the extent `n`; expected/],
    ["an operator", /^scan\.h:12: the operator - in the extent `n - 1`; expected/],
    ["a number that is no integer", /^scan\.h:12: `rate`, no integer/],
    ["wide float", /^scan\.h:12: values is wide and float; expected wide with void alone$/],
    ["an element type", /^scan\.h:12: values is char\*; expected float, double/],
    ["a pointer to a pointer", /^scan\.h:12: the field .*values`; expected/],
    ["a scalar type", /^scan\.h:12: rate is float; expected int32_t, int64_t, double/],
    [
      "memory of what is no input",
      /^scan\.h:12: out may be the memory of values; expected an output, of an input before it/,
    ],
    ["memory of another shape", /^scan\.h:14: out may be the memory of values; expected/],
    ["rows that do not come first", /^scan\.h:12: values is not cut by N; expected \[N, \.\.\.\]/],
    ["dtypes in words", /^scan\.h:11: the comment of dtype is "float32"; expected one that begins with the dtypes/],
    ["no size", /^scan\.h:9: srp_scan_sum_args begins otherwise; expected uint32_t size$/],
    ["no C", /^scan\.h:\d+: .* does not parse; expected C$/],
    ["an enumerator that is computed", /^scan\.h:3: the enumerator `SRP_SUMS = 1 << 1`; expected a whole number/],
  ])("%s is refused", (name, text) => {
    expect(said[name]).toMatch(text);
  });
});

/** A header with two forms and what they read. */
const FORMS = `typedef enum {
  SRP_SUM_PLAIN = 1, /* -x y; g = -y */
  SRP_SUM_BENT, /* x where marked; weighs twice; needs bend, marks; takes cap */
  SRP_SUM_FORMS
} srp_sum_form;

typedef enum { SRP_LATE_FIRST = SRP_SUM_FORMS } srp_late_kind;

typedef struct {
  double bend; /* > 0, 1 where not read: of x */
  double cap;  /* >= 2, infinity = off */
} srp_sum_parameters;

${header("const uint8_t* marks; /* [n] or NULL: of x */", "int64_t n;", "srp_sum_parameters parameters;").slice("#define SRP_SCAN\n".length)}`;

test("a form says what it computes and what it reads, and an option that is no field is refused", () => {
  const program = `
import { readContracts } from ${script("model.mjs")};
import { formOf, isOfForms, optionsOf, rangeOf } from ${script("forms.mjs")};
const read = (text) => {
  const { enums, structs, ops } = readContracts([{ file: "scan.h", text }]);
  const [choice, other] = enums;
  const { numbers, arrays } = optionsOf(choice, structs, ops);
  const ranges = numbers.fields.map(rangeOf);
  return { of: enums.slice(0, 2).map(isOfForms), forms: choice.items.map(formOf), arrays: [...arrays.keys()], ranges, late: other.items[0].value };
};
const text = ${JSON.stringify(FORMS)};
let refusal;
try {
  read(text.replace("needs bend", "needs bent"));
} catch (error) {
  refusal = error.message;
}
console.log(JSON.stringify({ ...read(text), refusal }));
`;
  expect(printed(program)).toEqual({
    of: [true, false],
    forms: [
      { loss: "-x y", slope: "-y", words: "-x y; g = -y", needs: [], takes: [] },
      {
        loss: "x where marked; weighs twice",
        slope: "",
        words: "x where marked; weighs twice",
        needs: ["bend", "marks"],
        takes: ["cap"],
      },
      { loss: "", slope: "", words: "", needs: [], takes: [] },
    ],
    arrays: ["marks"],
    ranges: [
      { range: { min: 0, above: true }, default: "1" },
      { range: { min: 2, infinite: true }, default: "Infinity" },
    ],
    late: 3,
    refusal: "scan.h:1: a form of srp_sum_form reads bent; expected a number of one struct, or an array of an op",
  });
});

/** Headers of three ops in two files, and what is changed in them. */
const OF_TWO_FILES = [
  { file: "a.h", text: header("const void* values; /* [n] */", "int64_t n;").replaceAll("scan_sum", "a_sum") },
  {
    file: "b.h",
    text: `${header("int64_t n;").replaceAll("scan_sum", "b_late")}\ntypedef srp_b_late_args srp_b_again_args;\n`,
  },
];
const CHANGES: Readonly<Record<string, readonly [from: string, to: string]>> = {
  nothing: ["", ""],
  "a comment": ["of values", "of all values"],
  "a layout": ["  int64_t n;", "\n\tint64_t   n;"],
  "a field": ["int64_t n;", "int64_t n, m;"],
  "an order": ["double rate;", "double speed, rate;"],
  "an enumerator": ["SRP_SUMS = 2", "SRP_SUMS = 3"],
  "a shape": ["/* [n] */", "/* [n, 2] */"],
  "the dtypes": ["SRP_F32 or SRP_F64: of", "SRP_F32: of"],
};

test("ops come in the order of files and lines, and any change but of words or layout makes another ABI", () => {
  const program = `
import { readContracts } from ${script("model.mjs")};
import { hashOf } from ${script("hash.mjs")};
const hashes = {};
let ops;
for (const [name, [from, to]] of Object.entries(${JSON.stringify(CHANGES)})) {
  const headers = ${JSON.stringify(OF_TWO_FILES)}.map(({ file, text }) => ({ file, text: text.replaceAll(from, to) }));
  const model = readContracts(headers);
  ops ??= model.ops.map(({ name }) => name);
  hashes[name] = hashOf(headers, model);
}
console.log(JSON.stringify({ ops, hashes }));
`;
  const { ops, hashes } = printed(program) as { ops: string[]; hashes: Record<string, string> };
  expect(ops).toEqual(["a_sum", "b_late", "b_again"]);
  const { nothing, "a comment": comment, "a layout": layout, ...others } = hashes;
  expect(nothing).toMatch(/^[0-9a-f]{8}$/);
  expect([comment, layout]).toEqual([nothing, nothing]);
  expect(new Set([nothing, ...Object.values(others)]).size).toBe(1 + Object.keys(others).length);
});
