// Servers that do the same work. Requests go round among them; one that fails several times in a row rests.
import type { Endpoint } from "./endpoint";

export interface CircuitOptions {
  /** Failures in a row after which an address rests. Default 3. */
  readonly failures: number;
  /** Milliseconds of a rest; the request behind it is a trial. Default 30 000. */
  readonly rest: number;
}

interface Address {
  readonly endpoint: Endpoint;
  /** In a row. */
  failures: number;
  /** On the clock of `performance`. */
  restsUntil: number;
}

export class Addresses {
  readonly #addresses: readonly Address[];
  #next = 0;

  constructor(
    endpoints: readonly Endpoint[],
    private readonly options: CircuitOptions,
  ) {
    this.#addresses = endpoints.map((endpoint) => ({ endpoint, failures: 0, restsUntil: 0 }));
  }

  get count(): number {
    return this.#addresses.length;
  }

  /** The next one that does not rest; where all do, the one whose rest ends first. `but`: where a request has just failed. */
  pick(but?: Endpoint): Endpoint {
    const now = performance.now();
    const round = this.#addresses.map((_, i) => this.#addresses[(this.#next + i) % this.count]!);
    const others = this.count > 1 ? round.filter(({ endpoint }) => endpoint !== but) : round;
    const awake = others.find(({ restsUntil }) => restsUntil <= now);
    const chosen = awake ?? round.reduce((first, one) => (one.restsUntil < first.restsUntil ? one : first));
    this.#next = (this.#addresses.indexOf(chosen) + 1) % this.count;
    return chosen.endpoint;
  }

  succeeded(endpoint: Endpoint): void {
    this.#of(endpoint).failures = 0;
  }

  failed(endpoint: Endpoint): void {
    const address = this.#of(endpoint);
    if (++address.failures >= this.options.failures) address.restsUntil = performance.now() + this.options.rest;
  }

  #of(endpoint: Endpoint): Address {
    return this.#addresses.find((address) => address.endpoint === endpoint)!;
  }
}
