interface BuiltinModules {
  getBuiltinModule?(name: "node:v8"): { setFlagsFromString(flags: string): void };
  getBuiltinModule?(name: "node:vm"): { runInNewContext(code: string): unknown };
}

let collector: (() => void) | null | undefined;

/** Has the engine collect all garbage of this thread now. False: it does not let itself be asked, as by the scripts of web pages. */
export function collectGarbage(): boolean {
  collector ??= findCollector() ?? null;
  collector?.();
  return collector !== null;
}

/** Node's own, where it was started with it, or that of a context which gets it; programs do not see that there is one. */
function findCollector(): (() => void) | undefined {
  const { gc, process } = globalThis as { gc?: () => void; process?: BuiltinModules };
  if (typeof gc === "function") return gc;
  try {
    const v8 = process?.getBuiltinModule?.("node:v8");
    const vm = process?.getBuiltinModule?.("node:vm");
    if (v8 === undefined || vm === undefined) return undefined;
    v8.setFlagsFromString("--expose-gc");
    const found = vm.runInNewContext("gc");
    v8.setFlagsFromString("--no-expose-gc");
    return found as () => void;
  } catch {
    return undefined;
  }
}
