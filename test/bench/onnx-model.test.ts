// The bytes of a model, taken apart again by the rules of protocol buffers.
import { FLOAT, onnxModel } from "../../bench/peers/onnx-model";

type Message = ReadonlyMap<number, readonly (bigint | Uint8Array)[]>;

function decode(bytes: Uint8Array): Message {
  const fields = new Map<number, (bigint | Uint8Array)[]>();
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++]!;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    let value: bigint | Uint8Array;
    if ((tag & 7) === 0) value = varint();
    else {
      const length = Number(varint());
      value = bytes.subarray(at, at + length);
      at += length;
    }
    fields.set(tag >> 3, [...(fields.get(tag >> 3) ?? []), value]);
  }
  return fields;
}

const messages = (message: Message, field: number) =>
  (message.get(field) ?? []).map((bytes) => decode(bytes as Uint8Array));
const texts = (message: Message, field: number) =>
  (message.get(field) ?? []).map((bytes) => new TextDecoder().decode(bytes as Uint8Array));

test("nodes, values, negative attributes and constants arrive", () => {
  const model = decode(
    onnxModel(
      [{ op: "LogSoftmax", inputs: ["x"], outputs: ["y"], attributes: { axis: -1 } }],
      [{ name: "x", type: FLOAT, sizes: [512, 151_936] }],
      [{ name: "y", type: FLOAT, sizes: [512, 151_936] }],
      { axis: [-1, 300] },
    ),
  );
  expect(model.get(1)).toEqual([8n]);
  expect(messages(model, 8)[0]!.get(2)).toEqual([13n]);
  const [graph] = messages(model, 7);
  const [node] = messages(graph!, 1);
  expect([texts(node!, 1), texts(node!, 2), texts(node!, 4)]).toEqual([["x"], ["y"], ["LogSoftmax"]]);
  const [attribute] = messages(node!, 5);
  expect([texts(attribute!, 1), BigInt.asIntN(64, attribute!.get(3)![0] as bigint), attribute!.get(20)]).toEqual([
    ["axis"],
    -1n,
    [2n],
  ]);
  const [constant] = messages(graph!, 5);
  expect(constant!.get(7)!.map((x) => BigInt.asIntN(64, x as bigint))).toEqual([-1n, 300n]);
  const [input] = messages(graph!, 11);
  const [tensor] = messages(messages(input!, 2)[0]!, 1);
  expect(tensor!.get(1)).toEqual([1n]);
  expect(messages(messages(tensor!, 2)[0]!, 1).map((size) => size.get(1))).toEqual([[512n], [151_936n]]);
});
