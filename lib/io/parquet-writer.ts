// Rollouts as Parquet: one row each, a column for every field of the record, lists as lists. Row groups are written as they fill.
import { valueError } from "../core/errors";
import type { AtomicFile } from "./atomic-file";
import { valueText } from "./json-text";
import { parquetWriter } from "./parquet-peer";
import { rewardsText } from "./record-json";
import { JSON_NAMES, type Rollout, TOKEN_FIELDS, tokenCount, type TopK } from "./record";

/** Rollouts, and tokens, after which a row group is written. */
const GROUP_ROLLOUTS = 1000;
const GROUP_TOKENS = 1 << 20;

type Primitive = "INT32" | "DOUBLE" | "STRING";

interface Column {
  readonly name: string;
  readonly type: Primitive;
  /** How many lists are around the values. */
  readonly depth: 0 | 1 | 2;
  readonly value: (rollout: Rollout) => unknown;
}

/** One entry of a schema, in the writer's words. */
interface SchemaElement {
  readonly name: string;
  readonly repetition_type?: "REQUIRED" | "OPTIONAL" | "REPEATED";
  readonly type?: "INT32" | "DOUBLE" | "BYTE_ARRAY";
  readonly converted_type?: "UTF8" | "LIST";
  readonly num_children?: number;
}

function listsOf(topK: TopK | undefined, entries: ArrayLike<unknown> | undefined): unknown[][] | undefined {
  if (!topK || !entries) return undefined;
  const all = Array.from(entries);
  return Array.from({ length: topK.offsets.length - 1 }, (_, t) => all.slice(topK.offsets[t], topK.offsets[t + 1]));
}

const list = (array: ArrayLike<unknown> | undefined): unknown[] | undefined => array && Array.from(array);

/** The columns; `group` is text or a number throughout the file. */
function columnsOf(groupType: "STRING" | "DOUBLE"): Column[] {
  const column = (field: keyof Rollout, type: Primitive, depth: Column["depth"], value: Column["value"]): Column => ({
    name: JSON_NAMES[field],
    type,
    depth,
    value,
  });
  return [
    column("group", groupType, 0, ({ group }) => group),
    column("id", "STRING", 0, ({ id }) => id),
    column("step", "DOUBLE", 0, ({ step }) => step),
    column("prompt", "STRING", 0, ({ prompt }) => prompt),
    column("text", "STRING", 0, ({ text }) => text),
    column("promptIds", "INT32", 1, ({ promptIds }) => list(promptIds)),
    column("tokenIds", "INT32", 1, ({ tokenIds }) => list(tokenIds)),
    column("tokens", "STRING", 1, ({ tokens }) => tokens),
    ...TOKEN_FIELDS.map((field) => column(field, "DOUBLE", 1, (rollout) => list(rollout[field]))),
    column("mask", "INT32", 1, ({ mask }) => list(mask)),
    column("reward", "DOUBLE", 0, ({ reward }) => reward),
    column("advantage", "DOUBLE", 0, ({ advantage }) => advantage),
    column("finishReason", "STRING", 0, ({ finishReason }) => finishReason),
    // As text: the writer's JSON type knows no -0 and no infinity.
    column("rewards", "STRING", 0, ({ rewards }) => rewards && rewardsText(rewards)),
    column("meta", "STRING", 0, ({ meta }) => meta && valueText(meta)),
    { name: "topk_logprobs", type: "DOUBLE", depth: 2, value: ({ topK }) => listsOf(topK, topK?.logProbs) },
    { name: "topk_ids", type: "INT32", depth: 2, value: ({ topK }) => listsOf(topK, topK?.ids) },
    { name: "topk_tokens", type: "STRING", depth: 2, value: ({ topK }) => listsOf(topK, topK?.tokens) },
  ];
}

/** A column as Parquet nests it: a list is a group around a repeated group around its elements. */
function schemaOf({ name, type, depth }: Column): SchemaElement[] {
  const leaf = (leafName: string, optional: boolean): SchemaElement => ({
    name: leafName,
    repetition_type: optional ? "OPTIONAL" : "REQUIRED",
    type: type === "STRING" ? "BYTE_ARRAY" : type,
    converted_type: type === "STRING" ? "UTF8" : undefined,
  });
  if (depth === 0) return [leaf(name, true)];
  const around = (outer: string, optional: boolean): SchemaElement[] => [
    { name: outer, repetition_type: optional ? "OPTIONAL" : "REQUIRED", num_children: 1, converted_type: "LIST" },
    { name: "list", repetition_type: "REPEATED", num_children: 1 },
  ];
  const inner = depth === 2 ? around("element", false) : [];
  return [...around(name, true), ...inner, leaf("element", false)];
}

/** Rollouts in row groups. */
async function* groupsOf(rollouts: AsyncIterable<Rollout>): AsyncGenerator<Rollout[]> {
  let group: Rollout[] = [];
  let tokens = 0;
  for await (const rollout of rollouts) {
    group.push(rollout);
    tokens += (tokenCount(rollout) ?? 0) + (rollout.topK?.logProbs.length ?? 0);
    if (group.length < GROUP_ROLLOUTS && tokens < GROUP_TOKENS) continue;
    yield group;
    group = [];
    tokens = 0;
  }
  yield group;
}

export async function writeParquet(op: string, file: AtomicFile, rollouts: AsyncIterable<Rollout>): Promise<void> {
  const { ByteWriter, ParquetWriter } = await parquetWriter(op);
  const bytes = new ByteWriter();
  const drain = async (): Promise<void> => {
    // A copy: the writer fills its memory again.
    await file.write(Uint8Array.from(bytes.getBytes()));
    bytes.index = 0;
  };
  let columns: Column[] = [];
  let groupType: "string" | "number" = "string";
  let parquet: InstanceType<typeof ParquetWriter> | undefined;
  let written = 0;
  for await (const group of groupsOf(rollouts)) {
    if (!parquet) {
      groupType = typeof group.find((rollout) => rollout.group !== undefined)?.group === "number" ? "number" : "string";
      columns = columnsOf(groupType === "number" ? "DOUBLE" : "STRING");
      parquet = new ParquetWriter({
        writer: bytes,
        schema: [{ name: "root", num_children: columns.length }, ...columns.flatMap(schemaOf)],
        createdBy: "surprisal",
      });
    }
    const odd = group.findIndex((rollout) => rollout.group !== undefined && typeof rollout.group !== groupType);
    if (odd >= 0)
      throw valueError(
        op,
        `rollouts[${written + odd}].group`,
        group[odd]!.group,
        `a ${groupType}, as in the rollouts before`,
        "a Parquet column has one type",
      );
    if (group.length > 0)
      await parquet.write({
        // PLAIN keeps every bit; a dictionary would take -0 for 0.
        columnData: columns.map(({ name, type, value }) => ({
          name,
          data: group.map(value),
          encoding: type === "DOUBLE" ? ("PLAIN" as const) : undefined,
        })),
        rowGroupSize: group.length,
      });
    written += group.length;
    await drain();
  }
  await parquet!.finish();
  await drain();
}
