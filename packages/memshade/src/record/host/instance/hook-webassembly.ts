import type { InstantiationObserver } from "./instantiation-observer.ts";
import { type AnyFunction, replaceClass, replaceFunction, replaceGetter } from "./replace-property.ts";
import { noteSuspending } from "./suspending-imports.ts";
import {
  acceptsImports,
  moduleResponse,
  type Rewritten,
  readResponse,
  TrackedInstances,
  TrackedModules,
} from "./tracked-instances.ts";

/**
 * Replaces the functions and classes that compile and instantiate modules in a `WebAssembly` namespace. Every module is
 * instrumented first. The program sees the same classes, names, errors, exports, imports and custom sections as without
 * memshade.
 *
 * Functions and classes are replaced by proxies of themselves, which keeps `name`, `length`, `prototype`, `toString()` and
 * subclassing. Calls that are not plain compilations go to the engine unchanged.
 */
export function hookWebAssembly(namespace: typeof WebAssembly, observer: InstantiationObserver): void {
  const { Module, Instance } = namespace;
  const modules = new TrackedModules(namespace, observer);
  const instances = new TrackedInstances(namespace, modules, observer);
  replaceFunctions(namespace, new Compiler(modules, instances, observer), modules, observer);
  replaceClasses(namespace, modules, instances);
  replaceGetter(Instance.prototype, "exports", {
    apply: (target, self, args) => instances.exportsOf(self) ?? Reflect.apply(target, self, args),
  });
  replaceReflection(Module, modules);
  noteSuspending(namespace);
}

/** Calls the engine with the original module. */
type Plain = () => Promise<unknown>;

/** Compiles and instantiates rewritten modules. Uses the original if the rewritten module does not compile. */
class Compiler {
  readonly instances: TrackedInstances;
  readonly #modules: TrackedModules;
  readonly #observer: InstantiationObserver;

  constructor(modules: TrackedModules, instances: TrackedInstances, observer: InstantiationObserver) {
    this.#modules = modules;
    this.instances = instances;
    this.#observer = observer;
  }

  async compile(source: Rewritten, options: unknown[], plain: Plain) {
    try {
      return await this.#modules.compile(source, options);
    } catch (error) {
      return this.#fallBack(source, error, plain);
    }
  }

  /** @param more the imports, and options */
  async instantiate(source: Rewritten, more: unknown[], plain: Plain) {
    let module: WebAssembly.Module;
    try {
      module = await this.#modules.compile(source, more.slice(1));
    } catch (error) {
      return this.#fallBack(source, error, plain);
    }
    return { module, instance: await this.instances.instantiate(module, more.slice(0, 1)) };
  }

  async #fallBack(source: Rewritten, error: unknown, plain: Plain) {
    const result = await plain();
    this.#observer.rejected(source.tracked, error);
    return result;
  }
}

function replaceFunctions(
  namespace: typeof WebAssembly,
  compiler: Compiler,
  modules: TrackedModules,
  observer: InstantiationObserver,
): void {
  replaceFunction(namespace, "compile", {
    apply(target, self, [source, ...more]) {
      const plain = (bytes: unknown) => Reflect.apply(target, self, [bytes, ...more]);
      return modules.rewriteThen(
        source,
        { caller: observer.caller?.() },
        (rewritten) => compiler.compile(rewritten, more, () => plain(rewritten.original)),
        plain,
      );
    },
  });

  replaceFunction(namespace, "instantiate", {
    apply(target, self, args) {
      const [source, ...more] = args;
      if (modules.find(source) !== undefined) return compiler.instances.instantiate(source, more);
      const plain = (bytes: unknown) => Reflect.apply(target, self, [bytes, ...more]);
      if (modules.isModule(source) || !acceptsImports(more)) return Reflect.apply(target, self, args);
      return modules.rewriteThen(
        source,
        { caller: observer.caller?.() },
        (rewritten) => compiler.instantiate(rewritten, more, () => plain(rewritten.original)),
        (bytes) => (bytes === source ? Reflect.apply(target, self, args) : plain(bytes)),
      );
    },
  });

  const streaming = (compile: Compiler["compile" | "instantiate"]): ProxyHandler<AnyFunction> => ({
    async apply(target, self, [source, ...more]) {
      const caller = observer.caller?.();
      const response = await source;
      const read = acceptsImports(more) ? await readResponse(response) : undefined;
      if (read === undefined) return Reflect.apply(target, self, [response, ...more]);
      const plain = () => Reflect.apply(target, self, [moduleResponse(read.bytes), ...more]);
      return modules.rewriteThen(
        read.bytes,
        { address: read.url, caller },
        (rewritten) => compile.call(compiler, rewritten, more, plain),
        plain,
      );
    },
  });
  replaceFunction(namespace, "compileStreaming", streaming(compiler.compile));
  replaceFunction(namespace, "instantiateStreaming", streaming(compiler.instantiate));
}

function replaceClasses(
  namespace: typeof WebAssembly,
  modules: TrackedModules,
  instances: TrackedInstances,
): void {
  replaceClass(namespace, "Module", ([source, ...more]) => {
    const rewritten = modules.rewrite(source);
    return rewritten === undefined ? undefined : modules.construct(rewritten, more);
  });
  replaceClass(namespace, "Instance", ([module, ...imports]) =>
    modules.find(module) === undefined
      ? undefined
      : instances.construct(module as WebAssembly.Module, imports),
  );
}

/** Replaces the functions that list a module's exports, imports and custom sections. */
function replaceReflection(Module: typeof WebAssembly.Module, modules: TrackedModules): void {
  replaceFunction(Module, "exports", {
    apply: (target, self, args) => modules.visibleExports(args[0], Reflect.apply(target, self, args)),
  });
  replaceFunction(Module, "imports", {
    apply: (target, self, args) => modules.visibleImports(args[0], Reflect.apply(target, self, args)),
  });
  replaceFunction(Module, "customSections", {
    apply: (target, self, args) =>
      modules.visibleSections(args[0], args[1], Reflect.apply(target, self, args)),
  });
}
