/** A frame of the engine's stack traces, as memshade reads it. */
export interface TraceFrame {
  /** File name or address; undefined for the engine's own functions. */
  readonly script: string | undefined;
  /** Position of the call in its script. Equal frames are recognized by it, without line and column. */
  readonly position: number;
  readonly isAsync: boolean;
  /**
   * Value by which the engine distinguishes instances in a module's code: the instance itself, where the engine gives it.
   */
  readonly instance: unknown;
  describe(): DescribedFrame;
}

/** Frames, innermost first. */
export interface Trace {
  frames: TraceFrame[];
  /** True if there may be further outer frames. */
  isCut: boolean;
}

export interface DescribedFrame {
  name: string | undefined;
  /** Counted from 1; 0 if unknown. */
  line: number;
  column: number;
  /** First position of the function, if the engine reports it. */
  start?: { line: number; column: number } | undefined;
}

/** The members of a V8 call site that are used. */
interface CallSite {
  getScriptNameOrSourceURL(): string | null;
  getPosition(): number;
  /** Returns the instance, for code of modules. */
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
 * Returns the frames below a running function, innermost first, at most `limit`. Undefined if the engine gives no trace. The
 * program's changes to `Error` stay, and none of its code runs.
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
    // A `prepareStackTrace` of the program might call into the module.
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

/** True if `prepareStackTrace` is unchanged since this module was loaded. */
function isEnginesOwn(): boolean {
  const now = Object.getOwnPropertyDescriptor(Error, "prepareStackTrace");
  return now === undefined || (now.get === undefined && now.value === FIRST?.value);
}

/** Sets a property of `Error`. Returns a function that restores it; undefined if the property cannot be set. */
function replace(key: Key, value: unknown): (() => void) | undefined {
  const before = Object.getOwnPropertyDescriptor(Error, key);
  const isReplaced = Reflect.defineProperty(Error, key, { value, writable: true, configurable: true });
  if (!isReplaced) return undefined;
  return () => {
    if (before === undefined) Reflect.deleteProperty(Error, key);
    else Reflect.defineProperty(Error, key, before);
  };
}

/** True for the script name of a module. */
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

/** Parses the text of `Error.stack`, of V8 or of other engines. */
export function parseTrace(text: string | undefined): TraceFrame[] | undefined {
  if (text === undefined) return undefined;
  return text.split("\n").flatMap((line) => {
    const found = V8_LINE.exec(line) ?? OTHER_LINE.exec(line);
    if (found === null) return [];
    const [, isAsync, name, script, row, column] = found;
    // The function's number and the offset in it follow the address in frames of modules.
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
