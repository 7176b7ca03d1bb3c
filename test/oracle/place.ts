// Placing by definition: each token asks whether any later token of its row is kept.
export interface PlaceCase {
  readonly row?: ArrayLike<number>;
  readonly tokens?: ArrayLike<number>;
  readonly values?: ArrayLike<number>;
  readonly scale: number;
  readonly clip?: readonly [number, number];
  readonly mask: ArrayLike<number>;
  readonly over: "kept" | "all";
  readonly offsets: ArrayLike<number>;
}

export function placeOracle({ row, tokens, values, scale, clip, mask, over, offsets }: PlaceCase): Float64Array {
  return Float64Array.from({ length: mask.length }, (_, t) => {
    const b = Array.from(offsets).findIndex((end) => end > t) - 1;
    const later = Array.from(mask).slice(t + 1, offsets[b + 1]);
    const isLast = mask[t] !== 0 && later.every((kept) => kept === 0);
    const counts = over === "all" || mask[t] !== 0;
    const clipped = !row ? 0 : clip ? Math.min(Math.max(row[b]!, clip[0]), clip[1]) : row[b]!;
    return (
      (counts && tokens ? tokens[t]! : 0) +
      (counts && values && scale !== 0 ? scale * values[t]! : 0) +
      (isLast ? clipped : 0)
    );
  });
}
