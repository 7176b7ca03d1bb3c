// What is written, as numpy, the safetensors package and pyarrow read it.
import { type FileTensor, writeRollouts, writeTensors } from "../../lib/io";
import { temporaryFolder } from "./folder";
import { runPython, testWithPython } from "./python";

const folder = temporaryFolder();

const tensors: Record<string, FileTensor> = {
  f8: { dtype: "float64", shape: [2, 2], data: Float64Array.of(Math.PI, -0, 5e-324, -Infinity) },
  f4: { dtype: "float32", shape: [3], data: Float32Array.of(1e-45, NaN, 3.4e38) },
  f2: { dtype: "float16", shape: [2], data: Uint16Array.of(0x3c01, 0xfc00) },
  i8: { dtype: "int64", shape: [2], data: BigInt64Array.of(-(2n ** 63n), 2n ** 63n - 1n) },
  i4: { dtype: "int32", shape: [1, 1], data: Int32Array.of(-5) },
  u4: { dtype: "uint32", shape: [1], data: Uint32Array.of(2 ** 32 - 1) },
  u1: { dtype: "uint8", shape: [0, 3], data: new Uint8Array(0) },
  b: { dtype: "bool", shape: [2], data: Uint8Array.of(1, 0) },
  one: { dtype: "float64", shape: [], data: Float64Array.of(7) },
};

/** dtype, shape and bytes of each array. */
const PRINT =
  "print(json.dumps({k: [str(a.dtype), list(a.shape), np.ascontiguousarray(a).tobytes().hex()] for k, a in arrays.items()}))";
const hex = ({ data }: FileTensor): string =>
  Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("hex");
const expected = Object.fromEntries(
  Object.entries(tensors).map(([name, tensor]) => [name, [tensor.dtype, tensor.shape, hex(tensor)]]),
);

testWithPython(["numpy"], "numpy reads every type, shape and bit of an npz, stored and deflated", async (python) => {
  for (const compress of [false, true]) {
    await writeTensors(folder.at("a.npz"), tensors, { compress });
    const program = `import json, sys, numpy as np\nfile = np.load(sys.argv[1])\narrays = {k: file[k] for k in file}\n${PRINT}`;
    expect(runPython(python, program, folder.at("a.npz"))).toEqual(expected);
  }
  await writeTensors(folder.at("a.npy"), { x: tensors["f8"]! });
  const single = `import json, sys, numpy as np\narrays = {"f8": np.load(sys.argv[1])}\n${PRINT}`;
  expect(runPython(python, single, folder.at("a.npy"))).toEqual({ f8: expected["f8"] });
});

testWithPython(
  ["numpy", "safetensors"],
  "the safetensors package reads every type, shape and bit, and the metadata",
  async (python) => {
    await writeTensors(folder.at("a.safetensors"), tensors, { metadata: { made: "here" } });
    const program = `import json, sys, numpy as np
from safetensors.numpy import load_file
from safetensors import safe_open
arrays = load_file(sys.argv[1])
with safe_open(sys.argv[1], "np") as file: assert file.metadata() == {"made": "here"}
${PRINT}`;
    expect(runPython(python, program, folder.at("a.safetensors"))).toEqual(expected);
  },
);

testWithPython(
  ["pyarrow"],
  "pyarrow reads rollouts: lists as lists, what is absent as null, every bit of a float",
  async (python) => {
    await writeRollouts(folder.at("a.parquet"), [
      {
        group: "g",
        tokenIds: Int32Array.of(1, 2 ** 31 - 1),
        samplerLogProbs: Float64Array.of(-0, 5e-324),
        rewards: { a: -0 },
        text: "é\u0000😀",
      },
      { group: "h", topK: { offsets: Int32Array.of(0, 2, 2), logProbs: Float64Array.of(-Infinity, -1) }, reward: 0.1 },
    ]);
    const program = `import json, sys, struct
import pyarrow.parquet as pq
rows = pq.read_table(sys.argv[1]).to_pylist()
bits = lambda xs: [struct.pack("<d", x).hex() for x in xs]
a, b = rows
print(json.dumps([a["group"], a["token_ids"], bits(a["sampler_logprobs"]), a["rewards"], a["text"], a["reward"], b["token_ids"], [bits(x) for x in b["topk_logprobs"]], b["reward"]]))`;
    expect(runPython(python, program, folder.at("a.parquet"))).toEqual([
      "g",
      [1, 2 ** 31 - 1],
      ["0000000000000080", "0100000000000000"],
      '{"a":-0}',
      "é\u0000😀",
      null,
      null,
      [["000000000000f0ff", "000000000000f0bf"], []],
      0.1,
    ]);
  },
);
