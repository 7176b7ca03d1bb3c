// The items of a group, for every op that goes over groups.

interface Members {
  readonly members: Int32Array | null;
  readonly offsets: Int32Array;
}

/** Calls `visit` with the items of group g, in their order. */
export function eachItem(a: Members, g: number, visit: (i: number) => void): void {
  for (let k = a.offsets[g]!; k < a.offsets[g + 1]!; ++k) visit(a.members ? a.members[k]! : k);
}
