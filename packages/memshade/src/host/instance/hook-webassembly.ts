import type { InstrumentedInfo } from "../../tools/index.ts";
import { holdMemory, memoryBeyond } from "../../tools/waste/read/held-memory.ts";
import { type ObservedImports, observeImports } from "../../tools/waste/read/host-ranges.ts";
import { withBranchHints } from "../module/branch-hints.ts";
import { customSectionsOf } from "../module/custom-sections.ts";
import { guardImports } from "./host-frames.ts";
import { MainModules } from "./main-modules.ts";
import { type AnyFunction, replaceClass, replaceFunction, replaceGetter } from "./replace-property.ts";
import { newShadow, type SharedShadow } from "./shared-shadows.ts";

/** A module that was rewritten, with what is needed to hide that from the program. */
export interface TrackedModule {
  info: InstrumentedInfo;
  /** Names one module within a process. */
  key: string;
  path: string | null;
  /** Bytes of the module before instrumentation; unknown when another thread compiled it. */
  original: Uint8Array | undefined;
}

/** The outcome of rewriting; its bytes are needed only until they are compiled. */
export interface RewrittenModule {
  bytes: Uint8Array;
  tracked: TrackedModule;
}

/** The side of the recorder. None of the functions may throw. */
export interface InstantiationObserver {
  /**
   * Rewrites a module about to be compiled. Undefined: leave it alone.
   *
   * @param address where the bytes came from, if that is known (`Response.url`).
   */
  rewrite(bytes: Uint8Array, address: string | undefined): RewrittenModule | undefined;
  /** The rewritten module does not compile, or cannot run with its imports; the original does. */
  rejected(module: TrackedModule, error: unknown): void;
  /**
   * A rewritten module has been instantiated. `exports` are all of its exports, hidden ones included; `group` names the
   * tables that it shares with other instances.
   */
  instantiated(exports: WebAssembly.Exports, module: TrackedModule, group?: string): void;
  /** The shadow memory, for all instances of a module with this memory, to be imported by one that wants it so. */
  sharedShadow(program: WebAssembly.Memory, module: TrackedModule): SharedShadow | undefined;
  /** What an instrumented module that another thread compiled says of itself. */
  recognize(section: ArrayBuffer): TrackedModule | undefined;
}

const INFO_SECTION = "memshade";

interface Observed extends ObservedImports {
  group?: string | undefined;
}

/** Whether the last import of the instrumented module is a shadow memory. */
function importsShadow({ acrossThreads, beside }: InstrumentedInfo): boolean {
  return acrossThreads === true || beside !== undefined;
}

/** Bytes to compile in both forms. Compilation falls back to the original, so that the engine's own errors come out. */
interface Rewritten extends RewrittenModule {
  original: Uint8Array;
}

/**
 * Replaces the ways of compiling and instantiating modules in a `WebAssembly` namespace, so that every module is
 * instrumented first, while the program sees what it would see without: the same classes, names and errors, the
 * same exports, imports and custom sections.
 *
 * Functions and classes are replaced by proxies of themselves, which keeps `name`, `length`, `prototype`,
 * `toString()` and subclassing. Calls that are not plain compilations go to the engine unchanged.
 */
export function hookWebAssembly(namespace: typeof WebAssembly, observer: InstantiationObserver): void {
  const { Module, Instance, compile, instantiate } = namespace;
  const { customSections, imports: importsOf } = Module;
  const instanceExports: AnyFunction = Object.getOwnPropertyDescriptor(Instance.prototype, "exports")!.get!;

  const trackedModules = new WeakMap<WebAssembly.Module, TrackedModule>();
  const visibleExports = new WeakMap<WebAssembly.Instance, WebAssembly.Exports>();
  const mainModules = new MainModules();

  const isModule = (value: unknown): value is WebAssembly.Module => value instanceof Module;

  /** Also finds modules that came from another thread: they carry a section of ours. */
  function trackedModule(module: unknown): TrackedModule | undefined {
    if (!isModule(module)) return undefined;
    const known = trackedModules.get(module);
    if (known !== undefined) return known;
    const [section] = customSections(module, INFO_SECTION);
    const recognized = section === undefined ? undefined : observer.recognize(section);
    if (recognized !== undefined) trackedModules.set(module, recognized);
    return recognized;
  }

  /** Bytes are copied at once, as the engine does: the program may change them while they are compiled. */
  function rewrite(source: unknown, address?: string): Rewritten | undefined {
    const original = copyBytes(source);
    const rewritten = original === undefined ? undefined : observer.rewrite(original, address);
    return rewritten === undefined ? undefined : { ...rewritten, original: original! };
  }

  async function compileRewritten(source: Rewritten, options: unknown[]): Promise<WebAssembly.Module> {
    const module = await withBranchHints(() =>
      Reflect.apply(compile as AnyFunction, namespace, [source.bytes, ...options]),
    );
    trackedModules.set(module, source.tracked);
    return module;
  }

  async function instantiateTracked(
    module: WebAssembly.Module,
    imports: unknown[],
  ): Promise<WebAssembly.Instance> {
    const plain = plainModule(module, imports[0]);
    if (plain !== undefined) return Reflect.apply(instantiate as AnyFunction, namespace, [plain, ...imports]);
    const observed = observe(module, imports[0]);
    const given = observed === undefined ? imports : [observed.imports];
    const instance = await Reflect.apply(instantiate as AnyFunction, namespace, [module, ...given]);
    return adopt(instance, module, imports[0], observed);
  }

  /** The module as it was, where what it is to import does not let the rewritten one run. */
  function plainModule(module: WebAssembly.Module, imports: unknown): WebAssembly.Module | undefined {
    const tracked = trackedModule(module);
    if (tracked?.original === undefined || typeof imports !== "object" || imports === null) return undefined;
    const reason = memoryBeyond(imports as WebAssembly.Imports, tracked.info);
    if (reason === undefined) return undefined;
    observer.rejected(tracked, new RangeError(reason));
    return Reflect.construct(Module, [tracked.original]);
  }

  /** The imports as the rewritten module is to get them. */
  function observe(module: WebAssembly.Module, imports: unknown): Observed | undefined {
    const tracked = trackedModule(module);
    if (tracked === undefined || typeof imports !== "object" || imports === null) return undefined;
    const original = imports as WebAssembly.Imports;
    const hold = holdMemory(original, tracked.info);
    const observed = observeCalls(module, original, tracked);
    if (hold === undefined) return observed;
    return {
      ...(observed ?? { imports: original }),
      connect(exports) {
        observed?.connect(exports);
        hold(exports);
      },
    };
  }

  /** The imports with guarded host functions, which report what they touch where a tool wants to know. */
  function observeCalls(
    module: WebAssembly.Module,
    imports: WebAssembly.Imports,
    tracked: TrackedModule,
  ): Observed | undefined {
    const observed = observeImports(imports, tracked.info);
    const given = observed?.imports ?? imports;
    const declared = importsOf(module);
    if (tracked.info.beside !== undefined)
      return {
        imports: mainModules.withShadow(given, declared, tracked.info.beside),
        connect: (exports) => observed?.connect(exports),
      };
    const shadow = tracked.info.acrossThreads === true ? shadowFor(given, declared, tracked) : undefined;
    const guarded = guardImports(given, declared, tracked.info, shadow?.memory);
    if (guarded === undefined) return observed;
    return {
      imports: guarded.imports,
      group: shadow?.group,
      connect(exports) {
        observed?.connect(exports);
        guarded.connect(exports);
      },
    };
  }

  function shadowFor(
    imports: WebAssembly.Imports,
    declared: readonly WebAssembly.ModuleImportDescriptor[],
    tracked: TrackedModule,
  ): { memory: WebAssembly.Memory; group?: string } {
    const entry = declared.find(({ kind }) => kind === "memory");
    const program = entry === undefined ? undefined : imports[entry.module]?.[entry.name];
    const found = isSharedMemory(program) ? observer.sharedShadow(program, tracked) : undefined;
    // Without one from the observer, this instance is followed alone; without a memory, the engine will refuse it.
    return found ?? { memory: newShadow(tracked.info) };
  }

  /** Makes the exports of an instance look as those of the original module, and tells the observer of all of them. */
  function adopt(
    instance: WebAssembly.Instance,
    module: WebAssembly.Module,
    imports: unknown,
    observed: Observed | undefined,
  ): WebAssembly.Instance {
    const tracked = trackedModule(module);
    if (tracked === undefined) return instance;
    const all: WebAssembly.Exports = Reflect.apply(instanceExports, instance, []);
    observed?.connect(all);
    const hidden = new Set(tracked.info.hiddenExports);
    const visible: WebAssembly.Exports = Object.create(null);
    for (const name of Object.keys(all)) if (!hidden.has(name)) visible[name] = all[name];
    visibleExports.set(instance, Object.freeze(visible));
    mainModules.add(tracked.info, imports, all, visible);
    observer.instantiated(all, tracked, observed?.group);
    return instance;
  }

  async function compileOrFallBack(source: Rewritten, options: unknown[], plain: () => Promise<unknown>) {
    try {
      return await compileRewritten(source, options);
    } catch (error) {
      return fallBack(source, error, plain);
    }
  }

  async function instantiateOrFallBack(source: Rewritten, more: unknown[], plain: () => Promise<unknown>) {
    let module: WebAssembly.Module;
    try {
      module = await compileRewritten(source, more.slice(1));
    } catch (error) {
      return fallBack(source, error, plain);
    }
    return { module, instance: await instantiateTracked(module, more.slice(0, 1)) };
  }

  async function fallBack(source: Rewritten, error: unknown, plain: () => Promise<unknown>) {
    const result = await plain();
    observer.rejected(source.tracked, error);
    return result;
  }

  replaceFunction(namespace, "compile", {
    apply(target, self, [source, ...more]) {
      const rewritten = rewrite(source);
      if (rewritten === undefined) return Reflect.apply(target, self, [source, ...more]);
      return compileOrFallBack(rewritten, more, () =>
        Reflect.apply(target, self, [rewritten.original, ...more]),
      );
    },
  });

  replaceFunction(namespace, "instantiate", {
    apply(target, self, args) {
      const [source, ...more] = args;
      if (trackedModule(source) !== undefined) return instantiateTracked(source, more);
      const rewritten = isModule(source) || !acceptsImports(more) ? undefined : rewrite(source);
      if (rewritten === undefined) return Reflect.apply(target, self, args);
      return instantiateOrFallBack(rewritten, more, () =>
        Reflect.apply(target, self, [rewritten.original, ...more]),
      );
    },
  });

  const streaming = (orFallBack: typeof compileOrFallBack): ProxyHandler<AnyFunction> => ({
    async apply(target, self, [source, ...more]) {
      const response = await source;
      const read = acceptsImports(more) ? await readResponse(response) : undefined;
      if (read === undefined) return Reflect.apply(target, self, [response, ...more]);
      const plain = () => Reflect.apply(target, self, [moduleResponse(read.bytes), ...more]);
      const rewritten = rewrite(read.bytes, read.url);
      return rewritten === undefined ? plain() : orFallBack(rewritten, more, plain);
    },
  });
  replaceFunction(namespace, "compileStreaming", streaming(compileOrFallBack));
  replaceFunction(namespace, "instantiateStreaming", streaming(instantiateOrFallBack));

  replaceClass(namespace, "Module", ([source, ...more]) => {
    const rewritten = rewrite(source);
    if (rewritten === undefined) return undefined;
    const construct = (bytes: Uint8Array): WebAssembly.Module => Reflect.construct(Module, [bytes, ...more]);
    let module: WebAssembly.Module;
    try {
      module = withBranchHints(() => construct(rewritten.bytes));
    } catch (error) {
      module = construct(rewritten.original);
      observer.rejected(rewritten.tracked, error);
      return module;
    }
    trackedModules.set(module, rewritten.tracked);
    return module;
  });

  replaceClass(namespace, "Instance", (args) => {
    const [module] = args;
    if (trackedModule(module) === undefined) return undefined;
    const plain = plainModule(module as WebAssembly.Module, args[1]);
    if (plain !== undefined) return Reflect.construct(Instance, [plain, ...args.slice(1)]);
    const observed = observe(module as WebAssembly.Module, args[1]);
    const given = observed === undefined ? args : [module, observed.imports];
    return adopt(Reflect.construct(Instance, given), module as WebAssembly.Module, args[1], observed);
  });

  replaceGetter(Instance.prototype, "exports", {
    apply: (target, self, args) => visibleExports.get(self) ?? Reflect.apply(target, self, args),
  });

  replaceFunction(Module, "exports", {
    apply(target, self, args) {
      const entries: WebAssembly.ModuleExportDescriptor[] = Reflect.apply(target, self, args);
      const hidden = trackedModule(args[0])?.info.hiddenExports ?? [];
      return entries.filter((entry) => !hidden.includes(entry.name));
    },
  });

  replaceFunction(Module, "imports", {
    apply(target, self, args) {
      const entries: WebAssembly.ModuleImportDescriptor[] = Reflect.apply(target, self, args);
      // It is the last one: the program may have one of the same name.
      const tracked = trackedModule(args[0]);
      return tracked !== undefined && importsShadow(tracked.info) ? entries.slice(0, -1) : entries;
    },
  });

  replaceFunction(Module, "customSections", {
    apply(target, self, args) {
      const sections: ArrayBuffer[] = Reflect.apply(target, self, args);
      const tracked = trackedModule(args[0]);
      if (tracked?.original !== undefined) return customSectionsOf(tracked.original, String(args[1]));
      return tracked !== undefined && args[1] === INFO_SECTION ? [] : sections;
    },
  });
}

function isSharedMemory(value: unknown): value is WebAssembly.Memory {
  // Not by `instanceof`: it may come from another context of this thread.
  return (
    Object.prototype.toString.call(value) === "[object WebAssembly.Memory]" &&
    Object.prototype.toString.call((value as WebAssembly.Memory).buffer) === "[object SharedArrayBuffer]"
  );
}

/** Whether the engine would take the import object: it looks at it before it compiles anything. */
function acceptsImports([imports]: unknown[]): boolean {
  return (
    imports === undefined ||
    (typeof imports === "object" && imports !== null) ||
    typeof imports === "function"
  );
}

const bufferLengths: AnyFunction[] = [ArrayBuffer, SharedArrayBuffer].map(
  (kind) => Object.getOwnPropertyDescriptor(kind.prototype, "byteLength")!.get!,
);

/** Whether a value is a buffer, of this realm or another. */
function isBuffer(value: unknown): value is ArrayBuffer {
  return bufferLengths.some((length) => {
    try {
      return Reflect.apply(length, value, []) >= 0;
    } catch {
      return false;
    }
  });
}

/** A copy of the bytes of a buffer source, or undefined for anything else. */
function copyBytes(source: unknown): Uint8Array | undefined {
  try {
    if (ArrayBuffer.isView(source)) {
      return new Uint8Array(source.buffer, source.byteOffset, source.byteLength).slice();
    }
    return isBuffer(source) ? new Uint8Array(source).slice() : undefined;
  } catch {
    // A detached buffer, which the engine refuses too.
    return undefined;
  }
}

/** Reads a response that the engine would take. Undefined, with the response untouched: let the engine judge it. */
async function readResponse(response: unknown): Promise<{ bytes: Uint8Array; url: string } | undefined> {
  if (!(response instanceof Response) || !response.ok || response.bodyUsed) return undefined;
  if (response.headers.get("content-type")?.trim().toLowerCase() !== "application/wasm") return undefined;
  return { bytes: new Uint8Array(await response.arrayBuffer()), url: response.url };
}

function moduleResponse(bytes: Uint8Array): Response {
  return new Response(bytes as BodyInit, { headers: { "content-type": "application/wasm" } });
}
