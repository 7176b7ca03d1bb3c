// What the reader of the headers does not understand, it refuses: where it stands, what it is, what was expected.

export class Refusal extends Error {
  constructor({ file, line }, what, expected) {
    super(`${file}:${line}: ${what}; expected ${expected}`);
    this.name = "Refusal";
  }
}
