// Two views of a record for the forward pass: padded, a matrix of sequences, and packed, all sequences in one row. Both ways.
import { rangeError, shapeError } from "../core/errors";
import type { Experience, Samples } from "./records";
import { TOKEN_FIELDS } from "./records";
import { lengthsOf, offsetsOf, padRows, type RowArray, unpadRows } from "../core/packed-rows";
import { positionIds, segmentIds } from "./positions";

/** What the padded view has in place of these fields of a record. */
type PackedFields = "promptIds" | "promptOffsets" | "tokenIds" | "offsets";

export interface PaddedLayout {
  /** [rows, P + A]: prompts fill the first P columns from the right, responses the last A from the left. */
  readonly shape: readonly [rows: number, width: number];
  /** [rows, A], of all numbers per response token. */
  readonly responseShape: readonly [rows: number, width: number];
  /** Ids, `padId` where there is no token. */
  readonly sequences: Int32Array;
  /** 1 = a token, of the prompt or the response. */
  readonly attentionMask: Uint8Array;
  /** From 0 at the first token of each prompt; 0 where there is no token. */
  readonly positionIds: Int32Array;
  /** The last A columns of the attention mask: 1 = a token of the response. `mask` says which of them are the policy's. */
  readonly responseMask: Uint8Array;
}

/** A record whose numbers per response token are [rows, A], 0 where there is no token. */
export type Padded<S extends Samples> = Omit<S, PackedFields> & PaddedLayout;

export interface PadOptions {
  /** Id that stands where there is no token. Default 0. */
  readonly padId?: number;
  /** Columns of the prompts, P. Default: the longest prompt. */
  readonly promptWidth?: number;
  /** Columns of the responses, A. Default: the longest response. */
  readonly responseWidth?: number;
}

/** Numbers per response token, each put through `change`. */
function mapTokens(
  record: Readonly<Record<string, unknown>>,
  change: (values: RowArray) => RowArray,
): Record<string, unknown> {
  return Object.fromEntries(
    TOKEN_FIELDS.flatMap((field) => (record[field] ? [[field, change(record[field] as RowArray)]] : [])),
  );
}

/**
 * The padded view: prompts end and responses begin at one column, as trainers batch them.
 *
 *     sequences[b] = pad … pad prompt | response pad … pad
 *
 * @throws SurprisalError ERR_SURPRISAL_OPTION for a width below the longest row
 */
export function padExperience<S extends Samples>(samples: S, options: PadOptions = {}): Padded<S> {
  const { padId: fill = 0, promptWidth, responseWidth } = options;
  const { promptIds, promptOffsets, tokenIds, offsets, ...rest } = samples;
  const prompts = padRows(promptIds, {
    offsets: promptOffsets,
    side: "left",
    fill,
    width: promptWidth,
  });
  const width = responseWidth === undefined ? {} : { width: responseWidth };
  const responses = padRows(tokenIds, { offsets, fill, ...width });
  const [B, P] = prompts.shape;
  const A = responses.shape[1];
  const beside = <R extends Int32Array | Uint8Array>(left: R, right: R): R => {
    const both = new (left.constructor as new (length: number) => R)(B * (P + A));
    for (let b = 0; b < B; ++b) {
      both.set(left.subarray(b * P, (b + 1) * P), b * (P + A));
      both.set(right.subarray(b * A, (b + 1) * A), b * (P + A) + P);
    }
    return both;
  };
  const attentionMask = beside(prompts.present, responses.present);
  const shape = [B, P + A] as const;
  return {
    ...rest,
    ...mapTokens(
      samples as unknown as Record<string, unknown>,
      (values) => padRows(values, { offsets, ...width }).values,
    ),
    shape,
    responseShape: [B, A],
    sequences: beside(prompts.values, responses.values),
    attentionMask,
    positionIds: positionIds(Int32Array.from(attentionMask), { shape }),
    responseMask: responses.present,
  } as unknown as Padded<S>;
}

/**
 * The record of a padded view: the inverse of `padExperience`, to the last bit.
 *
 * @throws SurprisalError ERR_SURPRISAL_SHAPE for arrays of other sizes than the shapes say
 */
export function unpadExperience<S extends Samples>(padded: Padded<S>): S {
  const {
    shape,
    responseShape,
    sequences,
    attentionMask,
    positionIds: _positions,
    responseMask,
    ...rest
  } = padded as unknown as Padded<Samples>;
  const [B, S] = shape;
  const A = responseShape[1];
  const P = S - A;
  if (responseShape[0] !== B || P < 0)
    throw shapeError("unpadExperience", "responseShape", responseShape, `[${B}, at most ${S}]`);
  const side = <R extends Int32Array | Uint8Array>(values: R, from: number, to: number): R =>
    values.filter((_, i) => i % S >= from && i % S < to) as R;
  const prompts = unpadRows(side(sequences, 0, P), { shape: [B, P], present: side(attentionMask, 0, P) });
  const responses = unpadRows(side(sequences, P, S), { shape: responseShape, present: responseMask });
  return {
    ...rest,
    ...mapTokens(rest, (values) => unpadRows(values, { shape: responseShape, present: responseMask }).values),
    promptIds: prompts.values,
    promptOffsets: prompts.offsets,
    tokenIds: responses.values,
    offsets: responses.offsets,
  } as unknown as S;
}

/** All sequences in one row, for attention that is told where each begins. */
export interface PackedSequences {
  /** Prompt and response of row 0, then of row 1, … */
  readonly sequences: Int32Array;
  /** Where the sequence of each row begins and ends. */
  readonly sequenceOffsets: Int32Array;
  /** 1 in the first sequence, 2 in the second, … */
  readonly segmentIds: Int32Array;
  /** From 0 in each sequence. */
  readonly positionIds: Int32Array;
  /** Where each response token stands in `sequences`. A causal model scores it with the logits of the position before. */
  readonly responsePositions: Int32Array;
  /** Prompt tokens of each row. */
  readonly promptLengths: Int32Array;
}

/** The packed view of a record. */
export function packSequences(samples: Pick<Samples, PackedFields>): PackedSequences {
  const { promptIds, promptOffsets, tokenIds, offsets } = samples;
  const promptLengths = lengthsOf(promptOffsets);
  const sequenceOffsets = offsetsOf(lengthsOf(offsets).map((length, b) => length + promptLengths[b]!));
  const B = promptLengths.length;
  const sequences = new Int32Array(sequenceOffsets[B]!);
  const responsePositions = new Int32Array(tokenIds.length);
  for (let b = 0; b < B; ++b) {
    const begin = sequenceOffsets[b]!;
    sequences.set(promptIds.subarray(promptOffsets[b], promptOffsets[b + 1]), begin);
    sequences.set(tokenIds.subarray(offsets[b], offsets[b + 1]), begin + promptLengths[b]!);
    for (let i = offsets[b]!; i < offsets[b + 1]!; ++i)
      responsePositions[i] = begin + promptLengths[b]! + (i - offsets[b]!);
  }
  const segments = segmentIds(sequenceOffsets);
  return {
    sequences,
    sequenceOffsets,
    segmentIds: segments,
    positionIds: positionIds(segments),
    responsePositions,
    promptLengths,
  };
}

/**
 * Prompts and responses of a packed view: the inverse of `packSequences`.
 *
 * @throws SurprisalError ERR_SURPRISAL_RANGE for a prompt longer than its sequence
 */
export function splitSequences(
  packed: Pick<PackedSequences, "sequences" | "sequenceOffsets" | "promptLengths">,
): Pick<Experience, PackedFields> {
  const { sequences, sequenceOffsets, promptLengths } = packed;
  const lengths = lengthsOf(sequenceOffsets);
  const responses = lengths.map((length, b) => {
    const prompt = promptLengths[b]!;
    if (prompt > length)
      throw rangeError(
        "splitSequences",
        `promptLengths[${b}]`,
        prompt,
        `at most ${length}, the length of the sequence`,
      );
    return length - prompt;
  });
  const promptOffsets = offsetsOf(promptLengths);
  const offsets = offsetsOf(responses);
  const promptIds = new Int32Array(promptOffsets[lengths.length]!);
  const tokenIds = new Int32Array(offsets[lengths.length]!);
  lengths.forEach((_, b) => {
    const cut = sequenceOffsets[b]! + promptLengths[b]!;
    promptIds.set(sequences.subarray(sequenceOffsets[b], cut), promptOffsets[b]);
    tokenIds.set(sequences.subarray(cut, sequenceOffsets[b + 1]), offsets[b]);
  });
  return { promptIds, promptOffsets, tokenIds, offsets };
}
