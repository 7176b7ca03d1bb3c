/** The same with fields that may be written, for a call that fills in what it has made. */
export type Writable<T> = { -readonly [Name in keyof T]: T[Name] };
