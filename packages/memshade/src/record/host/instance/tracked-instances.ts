import { followedMemory, isMemory } from "../../tools/followed-memory.ts";
import { SHADOW_IMPORT, SHADOW_MEMORY } from "../../tools/host-interface.ts";
import type { InstrumentedInfo, ShadowLayout } from "../../tools/index.ts";
import { holdMemory } from "../../tools/waste/read/held-memory.ts";
import { type ObservedImports, observeImports } from "../../tools/waste/read/wasi-ranges.ts";
import { customSectionsOf } from "../module/custom-sections.ts";
import { withEngineFlags } from "../module/engine-flags.ts";
import { type GuardedImports, guardImports } from "./host-frames.ts";
import {
  type InstantiationObserver,
  NO_ROOM,
  type RewrittenModule,
  type TrackedModule,
} from "./instantiation-observer.ts";
import type { AnyFunction } from "./replace-property.ts";
import { newShadow, shadowOf } from "./shared-shadows.ts";

interface Observed extends ObservedImports {
  visible?: GuardedImports["visible"];
  group?: string | undefined;
}

/** Module and imports for the engine, with the data of a rewritten module. */
interface Given {
  module: WebAssembly.Module;
  imports: unknown[];
  tracked?: TrackedModule;
  taken?: WebAssembly.Imports;
  observed?: Observed | undefined;
}

/** Makes instances of rewritten modules, which look like instances of the original ones. */
export class TrackedInstances {
  readonly #namespace: typeof WebAssembly;
  readonly #modules: TrackedModules;
  readonly #observer: InstantiationObserver;
  // Captured before they are replaced.
  readonly #Module: typeof WebAssembly.Module;
  readonly #Instance: typeof WebAssembly.Instance;
  readonly #instantiate: AnyFunction;
  readonly #importsOf: typeof WebAssembly.Module.imports;
  readonly #exportsOf: AnyFunction;
  readonly #visibleExports = new WeakMap<WebAssembly.Instance, WebAssembly.Exports>();
  readonly #mainModules = new MainModules();
  /** Modules that were rewritten again. */
  readonly #fitting = new WeakMap<RewrittenModule, WebAssembly.Module>();

  constructor(namespace: typeof WebAssembly, modules: TrackedModules, observer: InstantiationObserver) {
    const { Module, Instance, instantiate } = namespace;
    this.#namespace = namespace;
    this.#modules = modules;
    this.#observer = observer;
    this.#Module = Module;
    this.#Instance = Instance;
    this.#instantiate = instantiate;
    this.#importsOf = Module.imports;
    this.#exportsOf = Object.getOwnPropertyDescriptor(Instance.prototype, "exports")!.get!;
  }

  /** Returns the exports that the program sees; undefined for an instance of a module that was not rewritten. */
  exportsOf(instance: WebAssembly.Instance): WebAssembly.Exports | undefined {
    return this.#visibleExports.get(instance);
  }

  /** Instantiates a module. If there is no room for the memories of the rewritten module, the original is instantiated. */
  async instantiate(module: WebAssembly.Module, imports: unknown[]): Promise<WebAssembly.Instance> {
    const maker = this.#observer.maker?.(this.instantiate);
    const instantiate = (...args: unknown[]) => Reflect.apply(this.#instantiate, this.#namespace, args);
    let given: Given;
    let instance: WebAssembly.Instance;
    try {
      given = this.#given(module, imports);
      instance = await instantiate(given.module, ...given.imports);
    } catch (error) {
      return instantiate(this.#originalFor(module, error), ...imports);
    }
    return this.#adopt(instance, given, maker);
  }

  /** Instantiates a module by the constructor, else like `instantiate`. */
  construct(module: WebAssembly.Module, imports: unknown[]): WebAssembly.Instance {
    const maker = this.#observer.maker?.(this.construct);
    const construct = (...args: unknown[]) => Reflect.construct(this.#Instance, args);
    let given: Given;
    let instance: WebAssembly.Instance;
    try {
      given = this.#given(module, imports);
      instance = construct(given.module, ...given.imports);
    } catch (error) {
      return construct(this.#originalFor(module, error), ...imports);
    }
    return this.#adopt(instance, given, maker);
  }

  /** @throws the given error if instrumentation is not its cause */
  #originalFor(module: WebAssembly.Module, thrown: unknown): WebAssembly.Module {
    const tracked = this.#modules.find(module);
    if (tracked?.original === undefined || !NO_ROOM.test(String(thrown))) throw thrown;
    this.#observer.rejected(tracked, thrown);
    return Reflect.construct(this.#Module, [tracked.original]);
  }

  /** Returns the module and the imports for the engine. */
  #given(module: WebAssembly.Module, imports: unknown[]): Given {
    const tracked = this.#modules.find(module);
    if (tracked === undefined) return { module, imports };
    const taken = takeImports(imports[0], this.#importsOf(module));
    if (taken === undefined) return { module, imports, tracked };
    const fitting = this.#fittingModule(module, tracked, taken);
    const as = this.#modules.find(fitting) ?? tracked;
    const observed = this.#observe(fitting, taken, as);
    return { module: fitting, imports: [observed?.imports ?? taken], tracked: as, taken, observed };
  }

  /** Returns the module without the tools that cannot follow its imports, or the module itself if all tools can. */
  #fittingModule(
    module: WebAssembly.Module,
    tracked: TrackedModule,
    imports: WebAssembly.Imports,
  ): WebAssembly.Module {
    if (tracked.original === undefined) return module;
    const anew = this.#observer.rewriteFor(tracked, imports);
    if (anew === undefined) return module;
    const fitting =
      this.#fitting.get(anew) ?? this.#modules.construct({ ...anew, original: tracked.original }, []);
    this.#fitting.set(anew, fitting);
    return fitting;
  }

  /** Returns the imports for the rewritten module. */
  #observe(
    module: WebAssembly.Module,
    imports: WebAssembly.Imports,
    tracked: TrackedModule,
  ): Observed | undefined {
    const hold = holdMemory(imports, tracked.info);
    const observed = this.#observeCalls(module, imports, tracked);
    if (hold === undefined) return observed;
    return {
      ...(observed ?? { imports }),
      connect(exports) {
        observed?.connect(exports);
        hold(exports);
      },
    };
  }

  /** Returns the imports with guarded host functions. They report the memory that they access if a tool needs that. */
  #observeCalls(
    module: WebAssembly.Module,
    imports: WebAssembly.Imports,
    tracked: TrackedModule,
  ): Observed | undefined {
    const observed = observeImports(imports, tracked.info);
    const given = observed?.imports ?? imports;
    const declared = this.#importsOf(module);
    if (tracked.info.beside !== undefined)
      return {
        imports: this.#mainModules.withShadow(given, declared, tracked.info.beside),
        connect: (exports) => observed?.connect(exports),
      };
    const shadow =
      tracked.info.acrossThreads === true ? this.#shadowFor(given, declared, tracked) : undefined;
    const guarded = guardImports(given, declared, tracked.info, shadow?.memory);
    if (guarded === undefined) return observed;
    return {
      imports: guarded.imports,
      group: shadow?.group,
      visible: guarded.visible,
      connect(exports) {
        observed?.connect(exports);
        guarded.connect(exports);
      },
    };
  }

  #shadowFor(
    imports: WebAssembly.Imports,
    declared: readonly WebAssembly.ModuleImportDescriptor[],
    tracked: TrackedModule,
  ): { memory: WebAssembly.Memory; group?: string } {
    const entry = declared.find(({ kind }) => kind === "memory");
    const program = entry === undefined ? undefined : imports[entry.module]?.[entry.name];
    const found = isSharedMemory(program) ? this.#observer.sharedShadow(program, tracked) : undefined;
    // If the observer has none, this instance is followed alone. If there is no memory, the engine rejects the imports.
    return found ?? { memory: newShadow(tracked.info) };
  }

  /** Makes the exports of an instance look like those of the original module, and reports all of them to the observer. */
  #adopt(
    instance: WebAssembly.Instance,
    { tracked, taken, observed }: Given,
    maker: number | undefined,
  ): WebAssembly.Instance {
    if (tracked === undefined) return instance;
    const all: WebAssembly.Exports = Reflect.apply(this.#exportsOf, instance, []);
    observed?.connect(all);
    const hidden = new Set(tracked.info.hiddenExports);
    const visible: WebAssembly.Exports = Object.create(null);
    for (const name of Object.keys(all))
      if (!hidden.has(name)) visible[name] = observed?.visible?.(name, all[name]) ?? all[name];
    this.#visibleExports.set(instance, Object.freeze(visible));
    this.#mainModules.add(tracked.info, taken, all, visible);
    this.#observer.instantiated(all, tracked, observed?.group, maker);
    return instance;
  }
}

// Values that a program passes to the engine: bytes, responses and imports of modules.

/** True if the engine would accept the import object. The engine checks it before it compiles. */
export function acceptsImports([imports]: unknown[]): boolean {
  return (
    imports === undefined ||
    (typeof imports === "object" && imports !== null) ||
    typeof imports === "function"
  );
}

const { Memory } = WebAssembly;
const lengthOf = (prototype: object): AnyFunction =>
  Object.getOwnPropertyDescriptor(prototype, "byteLength")!.get!;
const bufferLengths: AnyFunction[] = [lengthOf(ArrayBuffer.prototype)];

/**
 * Yields the getters of a buffer's length. The class of shared buffers has a name only in some pages. Workers of other pages
 * crash if the class is requested before their script begins.
 */
function* lengthGetters(): Generator<AnyFunction> {
  yield bufferLengths[0]!;
  bufferLengths[1] ??= lengthOf(
    Object.getPrototypeOf(new Memory({ initial: 0, maximum: 0, shared: true }).buffer),
  );
  yield bufferLengths[1];
}

/** True for a buffer, of this realm or another. */
function isBuffer(value: unknown): value is ArrayBuffer {
  for (const length of lengthGetters())
    try {
      return Reflect.apply(length, value, []) >= 0;
    } catch {
      // Not one of these.
    }
  return false;
}

/** Returns a copy of the bytes of a buffer source; undefined for any other value. */
function copyBytes(
  source: unknown,
  roomFor: (length: number) => Uint8Array = (length) => new Uint8Array(length),
): Uint8Array | undefined {
  try {
    let bytes: Uint8Array;
    if (ArrayBuffer.isView(source))
      bytes = new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
    else if (isBuffer(source)) bytes = new Uint8Array(source);
    else return undefined;
    const copy = roomFor(bytes.length);
    copy.set(bytes);
    return copy;
  } catch {
    // A detached buffer: the engine rejects it too.
    return undefined;
  }
}

/**
 * Reads a response that the engine would accept. Returns undefined and leaves the response untouched if the engine must
 * judge it.
 */
export async function readResponse(
  response: unknown,
): Promise<{ bytes: Uint8Array; url: string } | undefined> {
  if (!(response instanceof Response) || !response.ok || response.bodyUsed) return undefined;
  if (response.headers.get("content-type")?.trim().toLowerCase() !== "application/wasm") return undefined;
  return { bytes: new Uint8Array(await response.arrayBuffer()), url: response.url };
}

export function moduleResponse(bytes: Uint8Array): Response {
  return new Response(bytes as BodyInit, { headers: { "content-type": "application/wasm" } });
}

const INFO_SECTION = "memshade";

/**
 * Bytes to compile in both forms. If the rewritten ones do not compile, the original is compiled, so that errors are the
 * engine's own.
 */
export interface Rewritten extends RewrittenModule {
  original: Uint8Array;
}

/** Origin of a program's request for a module. */
interface Asked {
  /** Address of the module's bytes, if known. */
  address?: string;
  caller: readonly string[] | undefined;
}

/** The rewritten modules of a `WebAssembly` namespace, and the program's view of them. */
export class TrackedModules {
  readonly #namespace: typeof WebAssembly;
  readonly #observer: InstantiationObserver;
  // Captured before they are replaced.
  readonly #Module: typeof WebAssembly.Module;
  readonly #compile: AnyFunction;
  readonly #customSections: typeof WebAssembly.Module.customSections;
  readonly #tracked = new WeakMap<WebAssembly.Module, TrackedModule>();

  constructor(namespace: typeof WebAssembly, observer: InstantiationObserver) {
    this.#namespace = namespace;
    this.#observer = observer;
    this.#Module = namespace.Module;
    this.#compile = namespace.compile;
    this.#customSections = namespace.Module.customSections;
  }

  isModule(value: unknown): value is WebAssembly.Module {
    return value instanceof this.#Module;
  }

  /**
   * Returns the data of a rewritten module. Modules from another thread are recognized by a section that memshade has added.
   */
  find(module: unknown): TrackedModule | undefined {
    if (!this.isModule(module)) return undefined;
    const known = this.#tracked.get(module);
    if (known !== undefined) return known;
    const [section] = this.#customSections(module, INFO_SECTION);
    const recognized = section === undefined ? undefined : this.#observer.recognize(section);
    if (recognized !== undefined) this.#tracked.set(module, recognized);
    return recognized;
  }

  /** Rewrites a module. Its bytes are copied at once, as the engine does: the program may change them during compilation. */
  rewrite(source: unknown, address?: string): Rewritten | undefined {
    const original = this.#copy(source);
    const rewritten = original === undefined ? undefined : this.#observer.rewrite(original, address);
    return rewritten === undefined ? undefined : { ...rewritten, original: original! };
  }

  #copy(source: unknown): Uint8Array | undefined {
    return copyBytes(source, this.#observer.roomFor?.bind(this.#observer));
  }

  /**
   * Rewrites a module for a program that waits for a promise. Then calls `goOn` with the rewritten module, or `plain` with
   * the module as it was. Does so at once if the observer answers at once.
   */
  rewriteThen(
    source: unknown,
    { address, caller }: Asked,
    goOn: (rewritten: Rewritten) => Promise<unknown>,
    plain: (source: unknown) => Promise<unknown>,
  ): Promise<unknown> {
    const original = this.#copy(source);
    if (original === undefined) return plain(source);
    if (this.#observer.rewriteLater === undefined) {
      const rewritten = this.#observer.rewrite(original, address);
      return rewritten === undefined ? plain(source) : goOn({ ...rewritten, original });
    }
    const later = this.#observer.rewriteLater(original, address, caller);
    if (later === undefined) return plain(source);
    return (async () => {
      const rewritten = await later;
      return rewritten === undefined ? plain(original) : goOn({ ...rewritten, original });
    })();
  }

  async compile(source: Rewritten, options: unknown[]): Promise<WebAssembly.Module> {
    const module = await withEngineFlags(() =>
      Reflect.apply(this.#compile, this.#namespace, [source.bytes, ...options]),
    );
    this.#tracked.set(module, source.tracked);
    return module;
  }

  /** Compiles by the constructor. If the rewritten module does not compile, the original is compiled. */
  construct(source: Rewritten, options: unknown[]): WebAssembly.Module {
    const construct = (bytes: Uint8Array): WebAssembly.Module =>
      Reflect.construct(this.#Module, [bytes, ...options]);
    let module: WebAssembly.Module;
    try {
      module = withEngineFlags(() => construct(source.bytes));
    } catch (error) {
      module = construct(source.original);
      this.#observer.rejected(source.tracked, error);
      return module;
    }
    this.#tracked.set(module, source.tracked);
    return module;
  }

  /** Reduces the engine's list for the rewritten module to the exports of the original. */
  visibleExports(module: unknown, all: WebAssembly.ModuleExportDescriptor[]) {
    const hidden = this.find(module)?.info.hiddenExports ?? [];
    return all.filter((entry) => !hidden.includes(entry.name));
  }

  visibleImports(module: unknown, all: WebAssembly.ModuleImportDescriptor[]) {
    // The shadow memory is the last import. The program may have an import of the same name.
    const tracked = this.find(module);
    return tracked !== undefined && importsShadow(tracked.info) ? all.slice(0, -1) : all;
  }

  visibleSections(module: unknown, name: unknown, all: ArrayBuffer[]) {
    const tracked = this.find(module);
    if (tracked?.original !== undefined) return customSectionsOf(tracked.original, String(name));
    return tracked !== undefined && name === INFO_SECTION ? [] : all;
  }
}

/** True if the last import of the instrumented module is a shadow memory. */
function importsShadow({ acrossThreads, beside }: InstrumentedInfo): boolean {
  return acrossThreads === true || beside !== undefined;
}

type Imports = Readonly<Record<string, unknown>>;

interface Shadow {
  memory: WebAssembly.Memory;
  layout: ShadowLayout;
}

/** Shadow memories of the modules into which dynamic libraries are loaded, by the memories of these modules. */
export class MainModules {
  readonly #shadows = new WeakMap<WebAssembly.Memory, Shadow>();

  /** Adds an instance. `all` and `visible`: its exports with and without those of instrumentation. */
  add(
    info: InstrumentedInfo,
    imports: unknown,
    all: WebAssembly.Exports,
    visible: WebAssembly.Exports,
  ): void {
    const memory = all[SHADOW_MEMORY] as WebAssembly.Memory | undefined;
    if (memory === undefined || info.layout === undefined || info.sharedMemory) return;
    const program = followedMemory(info, imports as Imports, visible);
    if (program !== undefined) this.#shadows.set(program, { memory, layout: info.layout });
  }

  /**
   * Returns the imports of a library that was rewritten for tables of this layout. They include the shadow memory of the
   * module whose memory the library imports. If that module has other tables, they include a shadow memory that is never
   * read.
   */
  withShadow(
    imports: WebAssembly.Imports,
    declared: readonly WebAssembly.ModuleImportDescriptor[],
    layout: ShadowLayout,
  ): WebAssembly.Imports {
    let shadow: Shadow | undefined;
    for (const { module, name } of declared)
      shadow ??= this.#shadows.get(imports[module]?.[name] as WebAssembly.Memory);
    const isSame = shadow !== undefined && JSON.stringify(shadow.layout) === JSON.stringify(layout);
    const { module, field } = SHADOW_IMPORT;
    return {
      ...imports,
      [module]: { ...imports[module], [field]: isSame ? shadow!.memory : shadowOf(layout) },
    };
  }
}

function isSharedMemory(value: unknown): value is WebAssembly.Memory {
  // `instanceof` would fail for a memory from another context of this thread.
  return isMemory(value) && Object.prototype.toString.call(value.buffer) === "[object SharedArrayBuffer]";
}

/**
 * Reads a module's imports into a plain object. Import objects may be proxies or compute their values on access. So each
 * declared import is read once, in the module's order, as the engine would.
 *
 * @param declared the imports that the module declares; the shadow memory among them is left out.
 * @returns undefined for imports that the engine rejects, so that the engine reports its own error.
 */
export function takeImports(
  imports: unknown,
  declared: readonly WebAssembly.ModuleImportDescriptor[],
): WebAssembly.Imports | undefined {
  // A module without imports needs no object.
  const given = imports === undefined ? {} : imports;
  if (!isObject(given)) return undefined;
  const taken: Record<string, Record<string, WebAssembly.ImportValue>> = Object.create(null);
  for (const { module, name } of declared) {
    if (module === SHADOW_IMPORT.module && name === SHADOW_IMPORT.field) continue;
    const from = given[module];
    if (!isObject(from)) return undefined;
    taken[module] ??= Object.create(null) as Record<string, WebAssembly.ImportValue>;
    taken[module][name] = from[name] as WebAssembly.ImportValue;
  }
  return taken;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}
