// Memory for arrays on the host. Large ones ask for huge pages before anything is written: the first touch of ordinary pages costs
// more than filling them.

/** A class of typed arrays. */
export interface ArrayKind<Kind extends ArrayBufferView = ArrayBufferView> {
  readonly BYTES_PER_ELEMENT: number;
  new (length: number): Kind;
  new (buffer: ArrayBuffer, byteOffset: number, length: number): Kind;
}

/** From here on an array is large: smaller ones are recycled by the allocator, with pages that were touched before. */
const LARGE_BYTES = 8 * 2 ** 20;

/** Asks for huge pages under a new array; the bytes that lie in them. */
type AskHugePages = (array: ArrayBufferView) => number;

let ask: AskHugePages | undefined;

/** Says who asks for huge pages: what knows the native addon. */
export function hugePagesBy(given: AskHugePages): void {
  ask = given;
}

/** Asks for huge pages under a new array if it is large. The bytes that lie in them. */
export function useHugePages(array: ArrayBufferView): number {
  return array.byteLength >= LARGE_BYTES && ask ? ask(array) : 0;
}

/** A new array, all zeros. */
export function newArray<Kind extends ArrayBufferView>(kind: ArrayKind<Kind>, length: number): Kind {
  const array = new kind(length);
  useHugePages(array);
  return array;
}
