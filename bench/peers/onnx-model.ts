// A small ONNX model as bytes: just enough of the format (protocol buffers) for a chain of operators.

type Field = Uint8Array;

function varint(value: number | bigint): Uint8Array {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  do {
    bytes.push(Number(rest & 0x7fn) | (rest > 0x7fn ? 0x80 : 0));
    rest >>= 7n;
  } while (rest > 0n);
  return Uint8Array.from(bytes);
}

function join(parts: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(parts.flatMap((part) => Array.from(part)));
}

const integer = (field: number, value: number): Field => join([varint(field << 3), varint(value)]);
const bytes = (field: number, value: Uint8Array): Field =>
  join([varint((field << 3) | 2), varint(value.length), value]);
const text = (field: number, value: string): Field => bytes(field, new TextEncoder().encode(value));
const message = (field: number, ...fields: Field[]): Field => bytes(field, join(fields));

export const FLOAT = 1;
export const INT64 = 7;

export interface OnnxNode {
  readonly op: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /** Integer attributes. */
  readonly attributes?: Readonly<Record<string, number>>;
}

export interface OnnxValue {
  readonly name: string;
  readonly type: number;
  readonly sizes: readonly number[];
}

// Field numbers of onnx.proto: ModelProto, GraphProto, NodeProto, AttributeProto, ValueInfoProto, TensorProto.
function node({ op, inputs, outputs, attributes = {} }: OnnxNode): Field {
  const INT = 2;
  return message(
    1,
    ...inputs.map((name) => text(1, name)),
    ...outputs.map((name) => text(2, name)),
    text(4, op),
    ...Object.entries(attributes).map(([name, value]) =>
      message(5, text(1, name), integer(3, value), integer(20, INT)),
    ),
  );
}

function value(field: number, { name, type, sizes }: OnnxValue): Field {
  const dimensions = sizes.map((size) => message(1, integer(1, size)));
  return message(field, text(1, name), message(2, message(1, integer(1, type), message(2, ...dimensions))));
}

/** int64 constants by name, one-dimensional. */
function constant([name, numbers]: readonly [string, readonly number[]]): Field {
  return message(5, integer(1, numbers.length), integer(2, INT64), ...numbers.map((x) => integer(7, x)), text(8, name));
}

export function onnxModel(
  nodes: readonly OnnxNode[],
  inputs: readonly OnnxValue[],
  outputs: readonly OnnxValue[],
  constants: Readonly<Record<string, readonly number[]>> = {},
): Uint8Array {
  const graph = message(
    7,
    ...nodes.map(node),
    text(2, "graph"),
    ...Object.entries(constants).map(constant),
    ...inputs.map((input) => value(11, input)),
    ...outputs.map((output) => value(12, output)),
  );
  const [IR_VERSION, OPSET] = [8, 13];
  return join([integer(1, IR_VERSION), graph, message(8, text(1, ""), integer(2, OPSET))]);
}
