import { isMemory } from "../../tools/followed-memory.ts";
import { holdMemory } from "../../tools/waste/read/held-memory.ts";
import { type ObservedImports, observeImports } from "../../tools/waste/read/host-ranges.ts";
import { type GuardedImports, guardImports } from "./host-frames.ts";
import type { InstantiationObserver, RewrittenModule, TrackedModule } from "./instantiation-observer.ts";
import { MainModules } from "./main-modules.ts";
import type { AnyFunction } from "./replace-property.ts";
import { newShadow } from "./shared-shadows.ts";
import { takeImports } from "./taken-imports.ts";
import type { TrackedModules } from "./tracked-modules.ts";

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
    this.#Instance = Instance;
    this.#instantiate = instantiate;
    this.#importsOf = Module.imports;
    this.#exportsOf = Object.getOwnPropertyDescriptor(Instance.prototype, "exports")!.get!;
  }

  /** The exports that the program sees; undefined for an instance of a module that was not rewritten. */
  exportsOf(instance: WebAssembly.Instance): WebAssembly.Exports | undefined {
    return this.#visibleExports.get(instance);
  }

  async instantiate(module: WebAssembly.Module, imports: unknown[]): Promise<WebAssembly.Instance> {
    const instantiate = (...args: unknown[]) => Reflect.apply(this.#instantiate, this.#namespace, args);
    const given = this.#given(module, imports);
    return this.#adopt(await instantiate(given.module, ...given.imports), given);
  }

  /** As `instantiate`, by the constructor. */
  construct(module: WebAssembly.Module, imports: unknown[]): WebAssembly.Instance {
    const given = this.#given(module, imports);
    return this.#adopt(Reflect.construct(this.#Instance, [given.module, ...given.imports]), given);
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
  #adopt(instance: WebAssembly.Instance, { tracked, taken, observed }: Given): WebAssembly.Instance {
    if (tracked === undefined) return instance;
    const all: WebAssembly.Exports = Reflect.apply(this.#exportsOf, instance, []);
    observed?.connect(all);
    const hidden = new Set(tracked.info.hiddenExports);
    const visible: WebAssembly.Exports = Object.create(null);
    for (const name of Object.keys(all))
      if (!hidden.has(name)) visible[name] = observed?.visible?.(name, all[name]) ?? all[name];
    this.#visibleExports.set(instance, Object.freeze(visible));
    this.#mainModules.add(tracked.info, taken, all, visible);
    this.#observer.instantiated(all, tracked, observed?.group);
    return instance;
  }
}

function isSharedMemory(value: unknown): value is WebAssembly.Memory {
  // Not by `instanceof`: it may come from another context of this thread.
  return isMemory(value) && Object.prototype.toString.call(value.buffer) === "[object SharedArrayBuffer]";
}
