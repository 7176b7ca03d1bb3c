// The JavaScript that surrounds a program, or the tests of one, within QuickJS. Both interpreters have it.
//
// Values pass between the two as in the Python codec: plain data as data, everything else as a handle of the side that has it. The
// two meet in three functions of the host, which take and give texts: print, readInput and ask.
export const JAVASCRIPT_HARNESS = String.raw`(() => {
  "use strict";
  const { print, readInput, ask } = globalThis.__host;
  delete globalThis.__host;
  const { parse, stringify } = JSON;

  const show = (value, depth = 0) => {
    if (typeof value === "string") return depth === 0 ? value : "'" + value + "'";
    if (typeof value === "bigint") return value + "n";
    if (Object.is(value, -0)) return "-0";
    if (typeof value === "symbol") return value.toString();
    if (typeof value === "function") return "[Function: " + (value.name || "anonymous") + "]";
    if (typeof value !== "object" || value === null) return String(value);
    if (value instanceof Error) return String(value);
    if (depth > 3) return Array.isArray(value) ? "[Array]" : "[Object]";
    const inner = (item) => show(item, depth + 1);
    if (Array.isArray(value)) return value.length === 0 ? "[]" : "[ " + value.map(inner).join(", ") + " ]";
    if (value instanceof Map) return "Map(" + value.size + ") {" + [...value].map(([k, v]) => " " + inner(k) + " => " + inner(v)).join(",") + " }";
    if (value instanceof Set) return "Set(" + value.size + ") { " + [...value].map(inner).join(", ") + " }";
    const entries = Object.entries(value).map(([k, v]) => (/^[A-Za-z_$][\w$]*$/.test(k) ? k : "'" + k + "'") + ": " + inner(v));
    return entries.length === 0 ? "{}" : "{ " + entries.join(", ") + " }";
  };
  const line = (...items) => print(items.map((item) => show(item)).join(" ") + "\n");

  let timers = [];
  let clock = 0;
  let count = 0;
  const later = (period) => (call, delay = 0, ...args) => {
    timers.push({ id: ++count, at: clock + Math.max(0, Number(delay) || 0), call, args, period: period ? Math.max(1, Number(delay) || 1) : 0 });
    return count;
  };
  const forget = (id) => { timers = timers.filter((timer) => timer.id !== id); };

  class Exit extends Error {}
  const listeners = (emit) => {
    const own = {};
    return { on: (name, call) => { (own[name] ??= []).push(call); emit(name, own); return undefined; } };
  };
  const inputLines = () => {
    const text = readInput();
    const lines = text.split(/\r?\n/);
    if (lines.at(-1) === "") lines.pop();
    return lines;
  };
  const fs = { readFileSync: (file) => {
    if (file === 0 || file === "/dev/stdin") { const text = readInput(); return text; }
    throw new Error("the sandbox has no files");
  } };
  const readline = { createInterface: () => {
    const own = { line: [], close: [] };
    let started = false;
    const face = {
      on: (name, call) => {
        (own[name] ??= []).push(call);
        if (!started) { started = true; later(false)(() => { for (const text of inputLines()) for (const each of own.line) each(text); for (const each of own.close) each(); }); }
        return face;
      },
      close: () => undefined,
      [Symbol.asyncIterator]: async function* () { yield* inputLines(); },
    };
    return face;
  } };
  const stdin = { setEncoding: () => stdin, resume: () => stdin, on: (name, call) => {
    if (name === "data") later(false)(() => call(readInput()));
    if (name === "end") later(false)(() => call(), 1);
    return stdin;
  }, [Symbol.asyncIterator]: async function* () { yield readInput(); } };
  const modules = { fs, readline };

  const equal = (a, b, strict) => {
    if (strict ? Object.is(a, b) : a == b || Object.is(a, b)) return true;
    if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
    if (strict && Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
    if (a instanceof Date && b instanceof Date) return a.getTime() === b.getTime();
    if (a instanceof Map && b instanceof Map)
      return a.size === b.size && [...a].every(([k, v]) => b.has(k) ? equal(v, b.get(k), strict) : [...b].some(([l, w]) => equal(k, l, strict) && equal(v, w, strict)));
    if (a instanceof Set && b instanceof Set) return a.size === b.size && [...a].every((v) => b.has(v) || [...b].some((w) => equal(v, w, strict)));
    if (Array.isArray(a) !== Array.isArray(b)) return false;
    const keys = Object.keys(a);
    return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && equal(a[key], b[key], strict));
  };
  class AssertionError extends Error {
    get name() { return "AssertionError"; }
  }
  const must = (right, message, usual) => {
    if (!right) throw message instanceof Error ? message : new AssertionError(message ?? usual);
  };
  const differ = (a, b) => show(a, 1) + " and " + show(b, 1);
  const assert = Object.assign((value, message) => must(value, message, "not true: " + show(value, 1)), {
    AssertionError,
    ok: (value, message) => must(value, message, "not true: " + show(value, 1)),
    equal: (a, b, message) => must(a == b || (a !== a && b !== b), message, "not equal: " + differ(a, b)),
    notEqual: (a, b, message) => must(a != b, message, "equal: " + differ(a, b)),
    strictEqual: (a, b, message) => must(Object.is(a, b), message, "not the same: " + differ(a, b)),
    notStrictEqual: (a, b, message) => must(!Object.is(a, b), message, "the same: " + differ(a, b)),
    deepEqual: (a, b, message) => must(equal(a, b, false), message, "not equal: " + differ(a, b)),
    deepStrictEqual: (a, b, message) => must(equal(a, b, true), message, "not equal: " + differ(a, b)),
    notDeepEqual: (a, b, message) => must(!equal(a, b, false), message, "equal: " + differ(a, b)),
    notDeepStrictEqual: (a, b, message) => must(!equal(a, b, true), message, "equal: " + differ(a, b)),
    fail: (message) => must(false, message, "failed"),
    throws: (call, wanted, message) => {
      try {
        call();
      } catch (error) {
        if (wanted instanceof RegExp) must(wanted.test(String(error)), message, "threw " + error);
        else if (typeof wanted === "function") must(error instanceof wanted, message, "threw " + error);
        return;
      }
      must(false, message, "did not throw");
    },
  });
  modules.assert = Object.assign(assert, { strict: assert });

  const set = (name, value) => Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
  set("console", { log: line, info: line, debug: line, error: () => undefined, warn: () => undefined, table: line, assert });
  set("setTimeout", later(false));
  set("setInterval", later(true));
  set("setImmediate", (call, ...args) => later(false)(call, 0, ...args));
  set("clearTimeout", forget);
  set("clearInterval", forget);
  set("process", { stdin, stdout: { write: (text) => (print(String(text)), true) }, argv: ["node", "program.js"], env: {}, exit: (code = 0) => { throw new Exit(String(code)); }, nextTick: (call, ...args) => later(false)(call, 0, ...args) });
  set("require", (name) => {
    const found = modules[String(name).replace(/^node:/, "").replace(/\/strict$/, "")];
    if (found === undefined) throw new Error("the sandbox has no module named " + name);
    return found;
  });
  set("module", { exports: {} });
  set("exports", globalThis.module.exports);
  set("assert", assert);
  const known = new Set(Object.getOwnPropertyNames(globalThis));

  const own = [];
  const numbers = new Map();
  const remotes = new Map();
  const handles = new WeakMap();
  const numberOf = (value) => {
    if (!numbers.has(value)) numbers.set(value, own.push(value) - 1);
    return numbers.get(value);
  };
  const plain = (value) => {
    const prototype = Object.getPrototypeOf(value);
    return prototype === null || prototype === Object.prototype;
  };
  class Encoder {
    constructor() { this.shared = []; this.index = new Map(); }
    share(value) { this.index.set(value, this.shared.length); return this.shared.push(value) - 1; }
    contents(value) {
      if (Array.isArray(value)) return Array.from(value, (item) => this.encode(item));
      if (value instanceof Map) return Array.from(value, ([k, v]) => [this.encode(k), this.encode(v)]);
      if (value instanceof Set) return Array.from(value, (item) => this.encode(item));
      return Object.keys(value).map((key) => [key, this.encode(value[key])]);
    }
    encode(value) {
      if (value === null || typeof value === "boolean" || typeof value === "string") return value;
      if (value === undefined) return ["u"];
      if (typeof value === "number") return ["n", Object.is(value, -0) ? "-0" : String(value)];
      if (typeof value === "bigint") return ["b", String(value)];
      if (typeof value === "symbol") return ["u"];
      if (handles.has(value)) return ["H", handles.get(value)];
      if (this.index.has(value)) return ["r", this.index.get(value)];
      const kind = Array.isArray(value) ? "array" : value instanceof Map ? "map" : value instanceof Set ? "set" : typeof value === "object" && plain(value) ? "object" : null;
      if (kind !== null) {
        const n = this.share(value);
        return [kind, n, this.contents(value)];
      }
      if (value instanceof Date) return ["date", ["n", String(value.getTime())]];
      if (value instanceof RegExp) return ["regexp", value.source, value.flags];
      if (ArrayBuffer.isView(value) && !(value instanceof DataView)) return ["typed", Object.prototype.toString.call(value).slice(8, -1), Array.from(value, (item) => this.encode(item))];
      if (value instanceof Error) return ["error", String(value.name), String(value.message)];
      return ["h", numberOf(value), typeof value];
    }
  }
  const TYPED = /^(Big)?(Int|Uint|Float)(8|16|32|64)(Clamped)?Array$/;
  const ERRORS = { Error, TypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError };
  class Decoder {
    constructor(shared = []) { this.shared = [...shared]; }
    fill(value, contents) {
      if (Array.isArray(value)) { const items = contents.map((item) => this.decode(item)); value.length = 0; value.push(...items); }
      else if (value instanceof Map) { const items = contents.map(([k, v]) => [this.decode(k), this.decode(v)]); value.clear(); for (const [k, v] of items) value.set(k, v); }
      else if (value instanceof Set) { const items = contents.map((item) => this.decode(item)); value.clear(); for (const item of items) value.add(item); }
      else {
        const items = contents.map(([k, v]) => [String(k), this.decode(v)]);
        for (const key of Object.keys(value)) delete value[key];
        for (const [k, v] of items) Object.defineProperty(value, k, { value: v, writable: true, enumerable: true, configurable: true });
      }
      return value;
    }
    decode(item) {
      if (item === null || typeof item === "boolean" || typeof item === "string") return item;
      const [tag, a, b] = item;
      switch (tag) {
        case "u": return undefined;
        case "n": return Number(a);
        case "b": return BigInt(a);
        case "H": return own[a];
        case "r": return this.shared[a];
        case "array": case "map": case "set": case "object": {
          const value = tag === "array" ? [] : tag === "map" ? new Map() : tag === "set" ? new Set() : {};
          this.shared[a] = value;
          return this.fill(value, b);
        }
        case "date": return new Date(this.decode(a));
        case "regexp": return new RegExp(String(a), String(b));
        case "typed": if (TYPED.test(a)) return globalThis[a].from(b.map((part) => this.decode(part))); break;
        case "error": {
          const error = new (Object.hasOwn(ERRORS, a) ? ERRORS[a] : Error)(String(b));
          if (error.name !== String(a)) Object.defineProperty(error, "name", { value: String(a), configurable: true });
          return error;
        }
        case "h": return remoteOf(a, b === "function");
      }
      throw new Error("the other side sent what it cannot send");
    }
  }
  const request = (what, target, args) => {
    const encoder = new Encoder();
    const reply = parse(ask(stringify({ op: "peer", what, target: encoder.encode(target), args: args.map((item) => encoder.encode(item)) })));
    const decoder = new Decoder(encoder.shared);
    (reply.shared ?? []).forEach((contents, n) => { if (n < encoder.shared.length) decoder.fill(encoder.shared[n], contents); });
    const value = decoder.decode(reply.value);
    if (reply.status !== "ok") throw value;
    return value;
  };
  const remoteOf = (n, callable) => {
    if (remotes.has(n)) return remotes.get(n);
    const iterate = function () {
      const iterator = request("iterate", this, []);
      return { next: () => request("next", iterator, []), [Symbol.iterator]() { return this; } };
    };
    const remote = new Proxy(callable ? function () {} : {}, {
      get: (_, key) => {
        if (key === Symbol.iterator) return request("has", remote, ["@@iterator"]) ? iterate : undefined;
        if (key === Symbol.toPrimitive) return (hint) => request("primitive", remote, [hint]);
        return typeof key === "symbol" ? undefined : request("get", remote, [key]);
      },
      set: (_, key, value) => (request("set", remote, [String(key), value]), true),
      has: (_, key) => typeof key === "string" && request("has", remote, [key]) === true,
      apply: (_, self, args) => request("call", remote, [self, ...args]),
      construct: (_, args) => Object(request("construct", remote, args)),
      getPrototypeOf: () => Object.prototype,
      ownKeys: () => [],
      getOwnPropertyDescriptor: () => undefined,
    });
    remotes.set(n, remote);
    handles.set(remote, n);
    return remote;
  };
  const SERVED = {
    get: (target, key) => target[key],
    set: (target, key, value) => { target[key] = value; },
    has: (target, key) => (key === "@@iterator" ? typeof target[Symbol.iterator] === "function" : key in target),
    call: (target, self, ...args) => Reflect.apply(target, self, args),
    construct: (target, ...args) => Reflect.construct(target, args),
    iterate: (target) => { const iterator = target[Symbol.iterator](); numberOf(iterator); return iterator; },
    next: (target) => { const { value, done } = target.next(); return { value, done: Boolean(done) }; },
    primitive: (target, hint) => (hint === "number" ? Number(target) : String(target)),
  };
  const serve = (message, guest) => {
    // A program may use what it was given, and not look into it.
    if (guest && !(["call", "iterate", "next"].includes(message.what) && Array.isArray(message.target) && message.target[0] === "H"))
      throw new Error("a program does not ask for that");
    const decoder = new Decoder();
    const target = decoder.decode(message.target);
    const args = message.args.map((item) => decoder.decode(item));
    const shared = [...decoder.shared];
    const encoder = new Encoder();
    for (const value of shared) encoder.share(value);
    let status = "ok";
    let value;
    try {
      value = SERVED[message.what](target, ...args);
    } catch (error) {
      status = "raised";
      value = error instanceof Exit ? new Error("the program exits") : error;
    }
    const contents = shared.map((item) => encoder.contents(item));
    return { status, value: encoder.encode(value), shared: contents };
  };

  const failure = (error) => {
    if (error instanceof Exit) return error.message === "0" ? { status: "ok" } : { status: "exit", error: "process.exit(" + error.message + ")" };
    let text = "?";
    let name = "Error";
    try {
      name = String(error?.name ?? typeof error).slice(0, 100);
      text = String(error?.message ?? error).slice(0, 500);
    } catch {}
    const where = /program\.js:(\d+)/.exec(String(error?.stack));
    return { status: "error", error: name + ": " + text, type: name, syntax: name === "SyntaxError" && !/at \S+ \(/.test(String(error?.stack)), ...(where && { line: Number(where[1]) }) };
  };
  let settled;
  const evaluate = globalThis.eval;
  const handle = (message) => {
    if (message.op === "peer" || message.op === "guest") return serve(message, message.op === "guest");
    if (message.op === "export") {
      const encoder = new Encoder();
      const declared = /(?:^|[\n;{}])\s*(?:export\s+)?(?:const|let|class|(?:async\s+)?function\*?|var)\s+([A-Za-z_$][\w$]*)/g;
      const names = message.names ?? [...new Set([...Array.from(message.source.matchAll(declared), (match) => match[1]), ...Object.getOwnPropertyNames(globalThis).filter((name) => !known.has(name)), ...Object.keys(Object(globalThis.module?.exports))])].filter((name) => !known.has(name));
      const values = [];
      for (const name of names) {
        try {
          const value = Object.hasOwn(Object(globalThis.module?.exports), name) ? globalThis.module.exports[name] : evaluate(name);
          values.push([name, encoder.encode(value)]);
        } catch {}
      }
      return { status: "ok", value: values };
    }
    if (message.op === "bind") {
      const decoder = new Decoder();
      for (const [name, value] of message.values) if (message.only || !Object.hasOwn(globalThis, name)) globalThis[name] = decoder.decode(value);
      return { status: "ok" };
    }
    if (message.op === "check") {
      settled = undefined;
      const AsyncFunction = (async () => {}).constructor;
      new AsyncFunction(message.source)().then(() => { settled = { status: "ok" }; }, (error) => { settled = failure(error); });
      return { status: "ok" };
    }
    if (message.op === "settled") return settled ?? { status: "error", error: "the test waits for what never comes" };
    if (message.op === "timer") {
      if (timers.length === 0) return { status: "ok", value: false };
      timers.sort((a, b) => a.at - b.at || a.id - b.id);
      const timer = timers.shift();
      clock = timer.at;
      if (timer.period > 0) timers.push({ ...timer, at: clock + timer.period });
      timer.call(...timer.args);
      return { status: "ok", value: true };
    }
    throw new Error("no such request");
  };
  return {
    dispatch: (text) => {
      try {
        return stringify(handle(parse(text)));
      } catch (error) {
        return stringify(failure(error));
      }
    },
    fail: (error) => stringify(failure(error)),
  };
})()`;
