/** What memshade reads of a frame in the engine's stack traces. */
export interface TraceFrame {
  /** File name or address; undefined for the engine's own functions. */
  readonly script: string | undefined;
  /** Where in its script the call is, so that equal ones are known without line and column. */
  readonly position: number;
  readonly isAsync: boolean;
  /** Of a module's code: the instance, or what else the engine tells it from others by. */
  readonly instance: unknown;
  describe(): DescribedFrame;
}

/** Frames, innermost first. */
export interface Trace {
  frames: TraceFrame[];
  /** There may be more, further out. */
  isCut: boolean;
}

export interface DescribedFrame {
  name: string | undefined;
  /** Counted from 1, 0: not known. */
  line: number;
  column: number;
  /** Where the function begins, as far as the engine tells. */
  start?: { line: number; column: number } | undefined;
}

/** A V8 call site, as far as it is needed. */
interface CallSite {
  getScriptNameOrSourceURL(): string | null;
  getPosition(): number;
  /** For code of modules the instance. */
  getThis?(): unknown;
  getLineNumber(): number | null;
  getColumnNumber(): number | null;
  getEnclosingLineNumber?(): number | null;
  getEnclosingColumnNumber?(): number | null;
  getFunctionName(): string | null;
  isConstructor(): boolean;
  isAsync(): boolean;
}

type TracingError = typeof Error & {
  captureStackTrace?(holder: object, below: unknown): void;
};

type Key = "stackTraceLimit" | "prepareStackTrace";

/**
 * The frames below a function that runs, innermost first, at most so many; undefined where the engine cannot be asked. What the
 * program has made of `Error` is as before, and none of its code runs.
 */
export function traceBelow(below: unknown, limit: number): Trace | undefined {
  const { captureStackTrace } = Error as TracingError;
  if (captureStackTrace === undefined) return whole(parseTrace(new Error().stack), Number.POSITIVE_INFINITY);
  let sites: CallSite[] | undefined;
  const restoreLimit = replace("stackTraceLimit", limit);
  const restorePrepare = replace("prepareStackTrace", (_: unknown, found: CallSite[]) => {
    sites = found;
    return "";
  });
  try {
    // The program's own function might call into the module.
    if (restorePrepare === undefined && !isEnginesOwn()) return undefined;
    const holder: { stack?: unknown } = {};
    captureStackTrace(holder, below);
    const text = holder.stack;
    const most = restoreLimit === undefined ? Number(Error.stackTraceLimit) : limit;
    if (sites !== undefined)
      return whole(
        sites.map((site) => new SiteFrame(site)),
        most,
      );
    return typeof text === "string" ? whole(parseTrace(text), most) : undefined;
  } finally {
    restorePrepare?.();
    restoreLimit?.();
  }
}

function whole(frames: TraceFrame[] | undefined, most: number): Trace | undefined {
  return frames && { frames, isCut: frames.length >= most };
}

const FIRST = Object.getOwnPropertyDescriptor(Error, "prepareStackTrace");

/** Whether nobody has changed how `Error` makes its texts since this module was loaded. */
function isEnginesOwn(): boolean {
  const now = Object.getOwnPropertyDescriptor(Error, "prepareStackTrace");
  return now === undefined || (now.get === undefined && now.value === FIRST?.value);
}

/** Gives `Error` another value; what puts back the property as it was, undefined if that cannot be done. */
function replace(key: Key, value: unknown): (() => void) | undefined {
  const before = Object.getOwnPropertyDescriptor(Error, key);
  const isReplaced = Reflect.defineProperty(Error, key, { value, writable: true, configurable: true });
  if (!isReplaced) return undefined;
  return () => {
    if (before === undefined) Reflect.deleteProperty(Error, key);
    else Reflect.defineProperty(Error, key, before);
  };
}

/** Whether the name of a script is that of a module. */
export function isWasm(script: string | undefined): boolean {
  return script?.startsWith("wasm:") === true;
}

class SiteFrame implements TraceFrame {
  readonly #site: CallSite;
  readonly script: string | undefined;

  constructor(site: CallSite) {
    this.#site = site;
    this.script = site.getScriptNameOrSourceURL() ?? undefined;
  }

  get position(): number {
    return this.#site.getPosition();
  }

  get instance(): unknown {
    if (!isWasm(this.script)) return undefined;
    return this.#site.getThis?.() ?? this.script;
  }

  get isAsync(): boolean {
    return this.#site.isAsync();
  }

  describe(): DescribedFrame {
    const site = this.#site;
    const name = site.getFunctionName() || undefined;
    const [line, column] = [site.getEnclosingLineNumber?.() ?? 0, site.getEnclosingColumnNumber?.() ?? 0];
    return {
      name: name !== undefined && site.isConstructor() ? `new ${name}` : name,
      line: site.getLineNumber() ?? 0,
      column: site.getColumnNumber() ?? 0,
      ...(line > 0 && column > 0 ? { start: { line, column } } : {}),
    };
  }
}

const V8_LINE = /^ {4}at (?:(async )?(.*?) \()?(?:async )?(.*?)(?::(\d+))?(?::(\d+))?\)?$/;
const OTHER_LINE = /^(?:(async)\*)?(.*?)@(.*?)(?::(\d+))?(?::(\d+))?$/;

/** Frames of the text of `Error.stack`, of V8 or of other engines. */
export function parseTrace(text: string | undefined): TraceFrame[] | undefined {
  if (text === undefined) return undefined;
  return text.split("\n").flatMap((line) => {
    const found = V8_LINE.exec(line) ?? OTHER_LINE.exec(line);
    if (found === null) return [];
    const [, isAsync, name, script, row, column] = found;
    // Code of modules: the function's number and the offset in it stand behind the address.
    const [file, inModule] = script.split(":wasm-function[");
    const address = inModule === undefined || file.startsWith("wasm:") ? file : `wasm:${file}`;
    return [
      {
        script: address === "native" || address === "<anonymous>" ? undefined : address,
        position: Number(row ?? 0) * 2 ** 20 + Number(column ?? 0),
        isAsync: isAsync !== undefined,
        instance: isWasm(address) ? address : undefined,
        describe: () => ({
          name: name || undefined,
          line: Number(row ?? 0),
          column: Number(column ?? 0),
        }),
      },
    ];
  });
}
