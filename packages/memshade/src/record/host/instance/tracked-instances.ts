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

/** What the engine makes an instance of, and what goes with it if it is one of a rewritten module. */
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
  // The engine's own, as they are before they are replaced.
  readonly #Module: typeof WebAssembly.Module;
  readonly #Instance: typeof WebAssembly.Instance;
  readonly #instantiate: AnyFunction;
  readonly #importsOf: typeof WebAssembly.Module.imports;
  readonly #exportsOf: AnyFunction;
  readonly #visibleExports = new WeakMap<WebAssembly.Instance, WebAssembly.Exports>();
  readonly #mainModules = new MainModules();
  /** Modules that were rewritten anew. */
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

  /** The exports that the program sees; undefined for an instance of a module that was not rewritten. */
  exportsOf(instance: WebAssembly.Instance): WebAssembly.Exports | undefined {
    return this.#visibleExports.get(instance);
  }

  /** The original is instantiated where there is no room for the memories of the rewritten module. */
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

  /** As `instantiate`, by the constructor. */
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

  /** @throws what was thrown, where that is the program's own affair */
  #originalFor(module: WebAssembly.Module, thrown: unknown): WebAssembly.Module {
    const tracked = this.#modules.find(module);
    if (tracked?.original === undefined || !NO_ROOM.test(String(thrown))) throw thrown;
    this.#observer.rejected(tracked, thrown);
    return Reflect.construct(this.#Module, [tracked.original]);
  }

  /** What the engine is to be given for a module and its imports. */
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

  /** The module without the tools that cannot follow what it is to import; as it is where all of them can. */
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

  /** The imports as the rewritten module is to get them. */
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

  /** The imports with guarded host functions, which report what they touch where a tool wants to know. */
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
    // Without one from the observer, this instance is followed alone; without a memory, the engine will refuse it.
    return found ?? { memory: newShadow(tracked.info) };
  }

  /** Makes the exports of an instance look as those of the original module, and tells the observer of all of them. */
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

// What a program hands to the engine as a module: bytes, responses, and what it is to import.

/** Whether the engine would take the import object: it looks at it before it compiles anything. */
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
 * The ways to ask a buffer for its length. The class of shared ones has a name in some pages alone, and workers of others crash that
 * ask for it before their script begins.
 */
function* lengthGetters(): Generator<AnyFunction> {
  yield bufferLengths[0]!;
  bufferLengths[1] ??= lengthOf(
    Object.getPrototypeOf(new Memory({ initial: 0, maximum: 0, shared: true }).buffer),
  );
  yield bufferLengths[1];
}

/** Whether a value is a buffer, of this realm or another. */
function isBuffer(value: unknown): value is ArrayBuffer {
  for (const length of lengthGetters())
    try {
      return Reflect.apply(length, value, []) >= 0;
    } catch {
      // Not one of these.
    }
  return false;
}

/** A copy of the bytes of a buffer source, or undefined for anything else. */
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
    // A detached buffer, which the engine refuses too.
    return undefined;
  }
}

/** Reads a response that the engine would take. Undefined, with the response untouched: let the engine judge it. */
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

/** Bytes to compile in both forms. Compilation falls back to the original, so that the engine's own errors come out. */
export interface Rewritten extends RewrittenModule {
  original: Uint8Array;
}

/** How a program asked for a module. */
interface Asked {
  /** Where its bytes came from, if that is known. */
  address?: string;
  caller: readonly string[] | undefined;
}

/** The modules of a `WebAssembly` namespace that were rewritten, and what the program is to see of them. */
export class TrackedModules {
  readonly #namespace: typeof WebAssembly;
  readonly #observer: InstantiationObserver;
  // The engine's own, as they are before they are replaced.
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

  /** Also finds modules that came from another thread: they carry a section of ours. */
  find(module: unknown): TrackedModule | undefined {
    if (!this.isModule(module)) return undefined;
    const known = this.#tracked.get(module);
    if (known !== undefined) return known;
    const [section] = this.#customSections(module, INFO_SECTION);
    const recognized = section === undefined ? undefined : this.#observer.recognize(section);
    if (recognized !== undefined) this.#tracked.set(module, recognized);
    return recognized;
  }

  /** Bytes are copied at once, as the engine does: the program may change them while they are compiled. */
  rewrite(source: unknown, address?: string): Rewritten | undefined {
    const original = this.#copy(source);
    const rewritten = original === undefined ? undefined : this.#observer.rewrite(original, address);
    return rewritten === undefined ? undefined : { ...rewritten, original: original! };
  }

  #copy(source: unknown): Uint8Array | undefined {
    return copyBytes(source, this.#observer.roomFor?.bind(this.#observer));
  }

  /**
   * As `rewrite`, for a program that waits for a promise: goes on with what was rewritten, or with the module as it was, at once where
   * the observer knows at once.
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

  /** As `compile`, by the constructor; the original where the rewritten module does not compile. */
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

  /** What the original says of itself, of what the engine says of the rewritten module. */
  visibleExports(module: unknown, all: WebAssembly.ModuleExportDescriptor[]) {
    const hidden = this.find(module)?.info.hiddenExports ?? [];
    return all.filter((entry) => !hidden.includes(entry.name));
  }

  visibleImports(module: unknown, all: WebAssembly.ModuleImportDescriptor[]) {
    // It is the last one: the program may have one of the same name.
    const tracked = this.find(module);
    return tracked !== undefined && importsShadow(tracked.info) ? all.slice(0, -1) : all;
  }

  visibleSections(module: unknown, name: unknown, all: ArrayBuffer[]) {
    const tracked = this.find(module);
    if (tracked?.original !== undefined) return customSectionsOf(tracked.original, String(name));
    return tracked !== undefined && name === INFO_SECTION ? [] : all;
  }
}

/** Whether the last import of the instrumented module is a shadow memory. */
function importsShadow({ acrossThreads, beside }: InstrumentedInfo): boolean {
  return acrossThreads === true || beside !== undefined;
}

type Imports = Readonly<Record<string, unknown>>;

interface Shadow {
  memory: WebAssembly.Memory;
  layout: ShadowLayout;
}

/** The shadow memories of the modules that dynamic libraries are loaded into, by the memories that these use. */
export class MainModules {
  readonly #shadows = new WeakMap<WebAssembly.Memory, Shadow>();

  /** An instance came into being. `all` and `visible`: its exports with and without those of instrumentation. */
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
   * The imports of a library that was rewritten for tables of this layout, with the shadow memory of the module whose
   * memory it imports; with one that nobody reads if that module has other tables.
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
  // Not by `instanceof`: it may come from another context of this thread.
  return isMemory(value) && Object.prototype.toString.call(value.buffer) === "[object SharedArrayBuffer]";
}

/**
 * What a module is to import, as a plain object. Import objects may be proxies or make their values while they are asked
 * for them: each is asked for what the module declares, in its order, once, as the engine would.
 *
 * @param declared the imports that the module declares; the shadow memory among them is left out.
 * @returns undefined for what the engine refuses, to be refused in the engine's own words.
 */
export function takeImports(
  imports: unknown,
  declared: readonly WebAssembly.ModuleImportDescriptor[],
): WebAssembly.Imports | undefined {
  // Without imports a module needs no object.
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
