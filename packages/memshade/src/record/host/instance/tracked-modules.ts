import type { InstrumentedInfo } from "../../tools/index.ts";
import { customSectionsOf } from "../module/custom-sections.ts";
import { withEngineFlags } from "../module/engine-flags.ts";
import type { InstantiationObserver, RewrittenModule, TrackedModule } from "./instantiation-observer.ts";
import { copyBytes } from "./module-sources.ts";
import type { AnyFunction } from "./replace-property.ts";

const INFO_SECTION = "memshade";

/** Bytes to compile in both forms. Compilation falls back to the original, so that the engine's own errors come out. */
export interface Rewritten extends RewrittenModule {
  original: Uint8Array;
}

/** How a program asked for a module. */
export interface Asked {
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
