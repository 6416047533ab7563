import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { guardImports } from "../../packages/memshade/src/record/host/instance/host-frames.ts";
import { withEngineFlags } from "../../packages/memshade/src/record/host/module/engine-flags.ts";
import { nativeSha256 } from "../../packages/memshade/src/record/host/module/native-sha256.ts";
import type { InstrumentOptions } from "../../packages/memshade/src/record/tools/index.ts";
import { instrument, readInstrumentedInfo } from "../../packages/memshade/src/record/tools/index.ts";

/** Variants in which a program's modules are instrumented before they are compiled. */
export const VARIANTS = {
  plain: undefined,
  /** The access counters alone. */
  counters: { tools: ["heap"], countersOnly: true },
  /** The heap profiler with default options. */
  full: { tools: ["heap"] },
  alloc: { tools: ["alloc"] },
  exact: { tools: ["heap"], exactHistogram: true },
  /** Lines per interval of a million accesses. */
  workingset: { tools: ["workingset"] },
  /** The same with trusted alignment hints, and with intervals of 20 ms of real time. */
  "workingset aligned": { tools: ["workingset"], workingset: { assumeAligned: true } },
  "workingset timed": { tools: ["workingset"], workingset: { unit: "wall", interval: 20e6 } },
  /** Reuse distances as well: of 1 % of the lines, and of all. */
  locality: { tools: ["workingset"], workingset: { locality: {} } },
  "locality of all lines": { tools: ["workingset"], workingset: { locality: { rate: 1 } } },
  /** Owners of the lines. */
  "first touch": { tools: ["workingset"], workingset: { attribution: { firstTouch: true } } },
  fill: { tools: ["workingset"], workingset: { attribution: { fill: true } } },
  owners: { tools: ["workingset"], workingset: { attribution: { owners: true } } },
  /** The waste tool with default options. */
  waste: { tools: ["waste"] },
  /** The same with writers, readers and values, and by calling context. */
  "waste pairs": { tools: ["waste"], waste: { pairs: true } },
  "waste contexts": { tools: ["waste"], waste: { contexts: true } },
  everything: { tools: ["heap"], includeStack: true, includeAllocator: true },
} as const satisfies Record<string, InstrumentOptions | undefined>;

export type Variant = keyof typeof VARIANTS;

/** Options of `memshade run` and `memshade node`. V8 counts unshared memory as garbage to come, and collects more often. */
const AS_USERS_GET_IT: InstrumentOptions = { sharedShadow: true, sha256: nativeSha256 };

/** Functions of one checkout that rewrite modules and wrap their imports. */
export interface Instrumenter {
  instrument: typeof instrument;
  readInstrumentedInfo: typeof readInstrumentedInfo;
  guardImports: typeof guardImports;
}

const OURS: Instrumenter = { instrument, readInstrumentedInfo, guardImports };

/** The instrumenter of another checkout, in one of the folder layouts that memshade had. */
export async function instrumenterOf(checkout: string): Promise<Instrumenter> {
  const source = resolve(checkout, "packages/memshade/src");
  const load = (...paths: string[]) => {
    const path = paths.map((each) => `${source}/${each}`).find(existsSync);
    if (path === undefined) throw new Error(`${source} has none of ${paths.join(", ")}`);
    return import(pathToFileURL(path).href);
  };
  const tools = await load("record/tools/index.ts", "tools/index.ts", "instrument/index.ts");
  const host = await load(
    ...["record/host", "host"].map((room) => `${room}/instance/host-frames.ts`),
    "runtime/host/host-frames.ts",
  );
  return {
    instrument: tools.instrument,
    readInstrumentedInfo: tools.readInstrumentedInfo,
    guardImports: host.guardImports,
  };
}

/** Rewrites a module for a variant; the plain variant is the module itself. */
export function rewrite(
  bytes: Uint8Array,
  variant: Variant,
  options: InstrumentOptions = {},
  instrumenter: Instrumenter = OURS,
): Uint8Array {
  const chosen = VARIANTS[variant];
  return chosen === undefined
    ? bytes
    : instrumenter.instrument(bytes, { ...AS_USERS_GET_IT, ...chosen, ...options }).bytes;
}

/** Emscripten makes modules below this size at run time, to give a JavaScript function a wasm signature. */
const TRAMPOLINE_BYTES = 128;

/** Prefix of the exports that instrumentation adds, which the program must not see. */
export const ADDED_EXPORT = "memshade.";

/**
 * While installed, replaces every module that this process compiles from bytes: WebAssembly.Module, compile,
 * instantiate and their streaming variants. Each variant of each module is rewritten and compiled once and then reused, so
 * that a measured run includes neither.
 */
export class ModuleSubstitution {
  variant: Variant = "plain";
  /** The instrumenter in use. */
  instrumenter: Instrumenter = OURS;
  /** Modules in order of first use, without those that JavaScript glue generates for one function. */
  readonly seen: { bytes: Uint8Array; sizes: Partial<Record<Variant, number>> }[] = [];
  readonly #options: (bytes: Uint8Array) => InstrumentOptions;
  readonly #compiled = new Map<string, WebAssembly.Module>();
  readonly #original = { Module: WebAssembly.Module, Instance: WebAssembly.Instance };
  readonly #methods = {
    compile: WebAssembly.compile,
    instantiate: WebAssembly.instantiate,
    compileStreaming: WebAssembly.compileStreaming,
    instantiateStreaming: WebAssembly.instantiateStreaming,
  };

  constructor(options: (bytes: Uint8Array) => InstrumentOptions = () => ({})) {
    this.#options = options;
  }

  /** The compiled module that replaces `source` in the current variant. */
  module(source: BufferSource): WebAssembly.Module {
    const bytes = ArrayBuffer.isView(source)
      ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength)
      : new Uint8Array(source);
    const digest = createHash("sha1").update(bytes).digest("hex");
    const key = `${this.instrumenter === OURS ? "" : "against "}${this.variant} ${digest}`;
    const known = this.#compiled.get(key);
    if (known !== undefined) return known;
    const rewritten = this.rewritten(bytes, this.variant);
    const compile = () => new this.#original.Module(rewritten as BufferSource);
    const module = this.variant === "plain" ? compile() : withEngineFlags(compile);
    this.#compiled.set(key, module);
    if (bytes.length < TRAMPOLINE_BYTES) return module;
    let entry = this.seen.find((candidate) => Buffer.compare(candidate.bytes, bytes) === 0);
    if (entry === undefined) {
      entry = { bytes: bytes.slice(), sizes: {} };
      this.seen.push(entry);
    }
    entry.sizes[this.variant] = rewritten.length;
    return module;
  }

  /** Bytes of a module in a variant. */
  rewritten(bytes: Uint8Array, variant: Variant): Uint8Array {
    return rewrite(bytes, variant, this.#options(bytes), this.instrumenter);
  }

  instance(module: WebAssembly.Module, imports?: WebAssembly.Imports): WebAssembly.Instance {
    const info = this.instrumenter.readInstrumentedInfo(module);
    const declared = this.#original.Module.imports(module);
    const guarded = info === undefined ? undefined : this.instrumenter.guardImports(imports, declared, info);
    const instance = new this.#original.Instance(module, guarded?.imports ?? imports);
    guarded?.connect(instance.exports);
    this.instantiated(module, instance.exports);
    return hideAddedExports(instance);
  }

  /** Called for a new instance with all its exports, the added ones included. */
  protected instantiated(_module: WebAssembly.Module, _exports: WebAssembly.Exports): void {}

  install(): void {
    const { Module, Instance } = this.#original;
    const substitution = this;
    const bytesOf = async (source: Response | PromiseLike<Response>) => (await source).arrayBuffer();
    function SubstituteModule(source: BufferSource): WebAssembly.Module {
      return substitution.module(source);
    }
    function SubstituteInstance(
      module: WebAssembly.Module,
      imports?: WebAssembly.Imports,
    ): WebAssembly.Instance {
      return substitution.instance(module, imports);
    }
    SubstituteModule.prototype = Module.prototype;
    SubstituteInstance.prototype = Instance.prototype;
    for (const method of ["imports", "exports", "customSections"] as const)
      Object.defineProperty(SubstituteModule, method, { value: Module[method] });
    const instantiate = async (source: BufferSource | WebAssembly.Module, imports?: WebAssembly.Imports) => {
      if (source instanceof Module) return substitution.instance(source, imports);
      const module = substitution.module(source);
      return { module, instance: substitution.instance(module, imports) };
    };
    Object.assign(WebAssembly, {
      Module: SubstituteModule,
      Instance: SubstituteInstance,
      compile: async (source: BufferSource) => substitution.module(source),
      instantiate,
      compileStreaming: async (source: Response) => substitution.module(await bytesOf(source)),
      instantiateStreaming: async (source: Response, imports?: WebAssembly.Imports) =>
        instantiate(await bytesOf(source), imports),
    });
  }

  uninstall(): void {
    Object.assign(WebAssembly, this.#methods, {
      Module: this.#original.Module,
      Instance: this.#original.Instance,
    });
  }
}

/** Gives the instance an `exports` object without the added names, so that a program that lists its exports sees its own. */
export function hideAddedExports(instance: WebAssembly.Instance): WebAssembly.Instance {
  const names = Object.keys(instance.exports);
  if (!names.some((name) => name.startsWith(ADDED_EXPORT))) return instance;
  const visible = Object.create(null);
  for (const name of names)
    if (!name.startsWith(ADDED_EXPORT))
      Object.defineProperty(visible, name, { value: instance.exports[name], enumerable: true });
  return Object.defineProperty(instance, "exports", { value: Object.freeze(visible), enumerable: true });
}
