import { syncBuiltinESMExports } from "node:module";
import vm from "node:vm";
import { hookWebAssembly } from "../instance/hook-webassembly.ts";
import type { InstantiationObserver } from "../instance/instantiation-observer.ts";
import { replaceFunction } from "../instance/replace-property.ts";

/** Hooks WebAssembly in this thread's own context and in those that the program makes with `node:vm`. */
export function hookAllContexts(observer: InstantiationObserver): void {
  const { runInContext, isContext } = vm;
  const hooked = new WeakSet<object>([WebAssembly]);
  hookWebAssembly(WebAssembly, observer);

  const hookContext = (context: vm.Context): void => {
    try {
      const namespace = runInContext("typeof WebAssembly === 'object' ? WebAssembly : undefined", context);
      // A program may hand its own WebAssembly object to the new context.
      if (namespace === undefined || hooked.has(namespace)) return;
      hooked.add(namespace);
      hookWebAssembly(namespace, observer);
    } catch {
      // The context allows no code or has no such object: nothing to record in it.
    }
  };

  replaceFunction(vm, "createContext", {
    apply(target, self, args) {
      const isNew = !isContext(args[0] ?? {});
      const context = Reflect.apply(target, self, args);
      if (isNew) hookContext(context);
      return context;
    },
  });
  replaceFunction(vm, "runInNewContext", {
    apply: (target, self, [code, object, options]) =>
      Reflect.apply(target, self, [code, contextFor(object, options), options]),
  });
  replaceFunction(vm.Script.prototype, "runInNewContext", {
    apply: (target, self, [object, options]) =>
      Reflect.apply(target, self, [contextFor(object, options), options]),
  });
  syncBuiltinESMExports();
}

/** The context that `runInNewContext` would make. */
function contextFor(object: unknown, options: unknown): unknown {
  if (object !== undefined && (typeof object !== "object" || object === null)) return object;
  if (options !== undefined && (typeof options !== "object" || options === null)) return object;
  const { contextName, contextOrigin, contextCodeGeneration, microtaskMode } = (options ??
    {}) as vm.RunningScriptInNewContextOptions;
  try {
    return vm.createContext(
      object as vm.Context | undefined,
      Object.fromEntries(
        Object.entries({
          name: contextName,
          origin: contextOrigin,
          codeGeneration: contextCodeGeneration,
          microtaskMode,
        }).filter(([, value]) => value !== undefined),
      ),
    );
  } catch {
    // Options that Node refuses: let it say so itself.
    return object;
  }
}
