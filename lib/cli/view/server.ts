// Serves pages, and news of them, to this machine and to nobody else.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { UsageError } from "../shell/exit-codes";

/** What is served. */
export interface Served {
  /** Where the pages are, "/" among them. */
  readonly paths: readonly string[];
  /** A document of HTML. */
  page(path: string): string;
  /** What a page learns that is open: one line of JSON. */
  news(): string;
}

const LOOPBACK = "127.0.0.1";

const EVENTS = "/events";
const pathOf = (url: string): string | undefined => url.split("?")[0];

const HEADERS = {
  "cache-control": "no-store",
  "content-security-policy": "frame-ancestors 'none'",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

interface Refusal {
  readonly status: number;
  readonly text: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Why a request gets nothing. A page of another site reaches a server of this machine by a name of its own that leads here (which the
 * host names), or by a link or a script (which browsers say).
 */
function refusal(
  { method = "", url = "", headers }: IncomingMessage,
  hosts: readonly string[],
  paths: readonly (string | undefined)[],
): Refusal | undefined {
  if (!hosts.includes(headers.host ?? "")) return { status: 403, text: `the host is none of ${hosts.join(", ")}` };
  const site = headers["sec-fetch-site"] ?? "none";
  if (site !== "none" && site !== "same-origin")
    return { status: 403, text: "another site asks; open the address by itself" };
  if (method !== "GET" && method !== "HEAD")
    return { status: 405, text: "only GET and HEAD", headers: { allow: "GET, HEAD" } };
  const known = pathOf(url) === EVENTS || paths.includes(pathOf(url));
  return known ? undefined : { status: 404, text: `there is only ${paths.join(", ")}` };
}

export class ViewServer {
  readonly address: string;
  readonly #server: Server;
  readonly #served: Served;
  readonly #hosts: readonly string[];
  /** Pages that are open. */
  readonly #listeners = new Set<ServerResponse>();

  private constructor(server: Server, served: Served) {
    const { port } = server.address() as AddressInfo;
    this.address = `http://${LOOPBACK}:${port}/`;
    // Browsers leave out the port of HTTP itself.
    this.#hosts = [LOOPBACK, "localhost", "[::1]"].flatMap((name) =>
      port === 80 ? [name, `${name}:80`] : [`${name}:${port}`],
    );
    this.#server = server;
    this.#served = served;
    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      this.#answer(request, response);
    });
  }

  /**
   * @param port 0: a free one
   * @throws UsageError where the port cannot be had
   */
  static async listen(port: number, served: Served): Promise<ViewServer> {
    const server = createServer();
    await new Promise<void>((resolve, reject) => {
      server.once("error", (error: NodeJS.ErrnoException) => {
        const why = error.code === "EADDRINUSE" ? "another program listens there" : error.message;
        reject(
          new UsageError(`--port is ${port}, and ${why}; without --port a free one is taken`, {
            name: "--port",
            got: port,
          }),
        );
      });
      server.listen(port, LOOPBACK, resolve);
    });
    return new ViewServer(server, served);
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const end = (status: number, type: string, text: string, more: Readonly<Record<string, string>> = {}): void => {
      const length = { "content-length": Buffer.byteLength(text) };
      response.writeHead(status, { ...HEADERS, "content-type": `${type}; charset=utf-8`, ...length, ...more });
      response.end(request.method === "HEAD" ? undefined : text);
    };
    const refused = refusal(request, this.#hosts, this.#served.paths);
    if (refused) {
      end(refused.status, "text/plain", `${refused.text}\n`, refused.headers);
      return;
    }
    const path = pathOf(request.url!)!;
    if (path === EVENTS) {
      this.#listen(request, response);
      return;
    }
    try {
      end(200, "text/html", this.#served.page(path));
    } catch (error) {
      end(500, "text/plain", `the page cannot be made: ${(error as Error).message}\n`);
    }
  }

  #listen({ method }: IncomingMessage, response: ServerResponse): void {
    response.writeHead(200, { ...HEADERS, "content-type": "text/event-stream" });
    if (method === "HEAD") {
      response.end();
      return;
    }
    response.on("close", () => this.#listeners.delete(response));
    this.#listeners.add(response);
    response.write(this.#event());
  }

  #event(): string {
    return `retry: 1000\ndata: ${this.#served.news()}\n\n`;
  }

  /** Tells every open page what is new. */
  tell(): void {
    for (const response of this.#listeners) response.write(this.#event());
  }

  /** Ends every connection, and gives the port back. */
  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const response of this.#listeners) response.end();
    this.#server.closeAllConnections();
    await closed;
  }
}
