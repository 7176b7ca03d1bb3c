// A headless browser and its pages, as far as the tests of the report need them.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Connection, type Fields } from "./connection";

export interface PageOptions {
  readonly width?: number;
  readonly height?: number;
  readonly scheme?: "light" | "dark";
  readonly reducedMotion?: boolean;
  readonly scripts?: boolean;
  /** Device pixels for a CSS pixel. */
  readonly scale?: number;
}

/** A node of the accessibility tree. */
export interface Accessible {
  readonly role: string;
  readonly name: string;
  readonly properties: Readonly<Record<string, unknown>>;
}

const KEY_CODES: Readonly<Record<string, number>> = {
  ArrowLeft: 37,
  ArrowUp: 38,
  ArrowRight: 39,
  ArrowDown: 40,
  Home: 36,
  End: 35,
  PageUp: 33,
  PageDown: 34,
  Tab: 9,
  Enter: 13,
  " ": 32,
};

export class Page {
  /** Console errors, exceptions and violations of the policy, as text. */
  readonly errors: string[] = [];
  /** Addresses that were asked for, the file itself apart. */
  readonly requests: string[] = [];
  private readonly loaded: (() => void)[] = [];
  /** What has been loaded, by the ids of its loads: the empty page, with which a tab begins, is one too. */
  private readonly loads = new Set<unknown>();

  constructor(
    private readonly connection: Connection,
    private readonly sessionId: string,
    private readonly targetId: string,
  ) {
    connection.listen(sessionId, (method, params) => this.hear(method, params));
  }

  private hear(method: string, params: Fields): void {
    if (method === "Page.lifecycleEvent") {
      if (params["name"] !== "load") return;
      this.loads.add(params["loaderId"]);
      this.loaded.splice(0).forEach((done) => done());
    } else if (method === "Runtime.exceptionThrown") {
      const { exceptionDetails } = params as {
        exceptionDetails: { text: string; exception?: { description?: string } };
      };
      this.errors.push(exceptionDetails.exception?.description ?? exceptionDetails.text);
    } else if (method === "Runtime.consoleAPICalled") {
      if (params.type !== "log") this.errors.push(JSON.stringify(params.args));
    } else if (method === "Log.entryAdded") {
      const { entry } = params as { entry: { level: string; text: string } };
      if (entry.level !== "verbose" && entry.level !== "info") this.errors.push(entry.text);
    } else if (method === "Network.requestWillBeSent") {
      const { request } = params as { request: { url: string } };
      this.requests.push(request.url);
    }
  }

  call(method: string, params: Fields = {}): Promise<Fields> {
    return this.connection.call(method, params, this.sessionId);
  }

  /** A file, or an address that begins with http. */
  async open(
    file: string,
    { width = 1280, height = 900, scheme = "light", reducedMotion = true, scripts = true, scale = 1 }: PageOptions = {},
  ): Promise<void> {
    for (const domain of ["Page", "Runtime", "Log", "Network", "Accessibility"]) await this.call(`${domain}.enable`);
    await this.call("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: scale, mobile: false });
    await this.setMedia(scheme, reducedMotion);
    await this.call("Emulation.setScriptExecutionDisabled", { value: !scripts });
    await this.call("Page.setLifecycleEventsEnabled", { enabled: true });
    const url = file.startsWith("http") ? file : pathToFileURL(file).href;
    const { loaderId } = await this.call("Page.navigate", { url });
    while (!this.loads.has(loaderId)) await this.nextLoad();
  }

  /** Until the page has been loaded once more. */
  nextLoad(): Promise<void> {
    return new Promise((resolve) => this.loaded.push(resolve));
  }

  setMedia(scheme: "light" | "dark", reducedMotion = true): Promise<Fields> {
    const motion = { name: "prefers-reduced-motion", value: reducedMotion ? "reduce" : "no-preference" };
    return this.call("Emulation.setEmulatedMedia", {
      features: [{ name: "prefers-color-scheme", value: scheme }, motion],
    });
  }

  /** The value of an expression in the page; promises are waited for. */
  async evaluate<T>(expression: string): Promise<T> {
    const { result, exceptionDetails } = (await this.call("Runtime.evaluate", {
      expression,
      returnByValue: true,
      awaitPromise: true,
    })) as {
      result: { value: T };
      exceptionDetails?: { text: string; exception?: { description?: string } };
    };
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  /** After everything that was asked for has been drawn. */
  drawn(): Promise<unknown> {
    return this.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))");
  }

  /** A key as the keyboard sends it; `modifiers`: 2 Ctrl, 8 Shift. */
  async press(key: string, modifiers = 0): Promise<void> {
    const text = key.length === 1 ? { text: key } : key === "Enter" ? { text: "\r" } : {};
    const event = {
      key,
      code: key,
      windowsVirtualKeyCode: KEY_CODES[key] ?? key.toUpperCase().charCodeAt(0),
      modifiers,
    };
    await this.call("Input.dispatchKeyEvent", { type: "keyDown", ...event, ...text });
    await this.call("Input.dispatchKeyEvent", { type: "keyUp", ...event });
    await this.drawn();
  }

  /** The middle of what a selector finds, after it was scrolled into view and nothing around it moves any more. */
  private place(selector: string): Promise<{ x: number; y: number }> {
    return this.evaluate(`(async () => {
      const element = document.querySelector(${JSON.stringify(selector)});
      for (let last; ; ) {
        element.scrollIntoView({ block: "center", behavior: "instant" });
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        const { left, top, width, height } = element.getBoundingClientRect();
        if (top === last) return { x: left + width / 2, y: top + height / 2 };
        last = top;
      }
    })()`);
  }

  async hover(selector: string): Promise<void> {
    const point = await this.place(selector);
    await this.call("Input.dispatchMouseEvent", { type: "mouseMoved", ...point });
    await this.drawn();
  }

  async click(selector: string): Promise<void> {
    const point = await this.place(selector);
    for (const type of ["mousePressed", "mouseReleased"])
      await this.call("Input.dispatchMouseEvent", { type, button: "left", clickCount: 1, ...point });
    await this.drawn();
  }

  /** What assistive technology is told, in the order of the page. */
  async accessibleNodes(): Promise<Accessible[]> {
    const { nodes } = (await this.call("Accessibility.getFullAXTree")) as {
      nodes: {
        ignored: boolean;
        role?: { value: string };
        name?: { value: string };
        properties?: { name: string; value: { value: unknown } }[];
      }[];
    };
    return nodes
      .filter(({ ignored }) => !ignored)
      .map(({ role, name, properties }) => ({
        role: role?.value ?? "",
        name: name?.value ?? "",
        properties: Object.fromEntries((properties ?? []).map((property) => [property.name, property.value.value])),
      }));
  }

  close(): Promise<Fields> {
    return this.call("Target.closeTarget", { targetId: this.targetId });
  }

  /** What is in view, as WebP. */
  async screenshot(): Promise<Buffer> {
    await this.drawn();
    const { data } = (await this.call("Page.captureScreenshot", { format: "webp", quality: 70 })) as { data: string };
    return Buffer.from(data, "base64");
  }
}

export class Browser {
  private readonly profile = mkdtempSync(join(tmpdir(), "surprisal-chromium-"));
  private readonly connection: Connection;

  constructor(path: string) {
    this.connection = new Connection(path, this.profile);
  }

  async page(file: string, options?: PageOptions): Promise<Page> {
    const { targetId } = (await this.connection.call("Target.createTarget", { url: "about:blank" })) as {
      targetId: string;
    };
    const { sessionId } = (await this.connection.call("Target.attachToTarget", { targetId, flatten: true })) as {
      sessionId: string;
    };
    const page = new Page(this.connection, sessionId, targetId);
    await page.open(file, options);
    return page;
  }

  async close(): Promise<void> {
    await this.connection.close();
    rmSync(this.profile, { recursive: true, force: true, maxRetries: 5 });
  }
}
