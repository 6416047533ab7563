import { type AnyFunction, replaceClass } from "./replace-property.ts";

type HostFunction = (...operands: unknown[]) => unknown;
type Suspending = new (call: HostFunction) => object;

/** A function that modules import to wait for the promise that it returns: WebAssembly's JavaScript promise integration. */
export interface SuspendingImport {
  call: HostFunction;
  /** Wraps another function, for the module to import in its place. */
  make(call: HostFunction): WebAssembly.ImportValue;
}

/** Functions that suspending objects wrap. The objects themselves do not reveal them. */
const known = new WeakMap<object, SuspendingImport>();

const noted = new WeakSet<object>();

/** Starts to record the functions that are wrapped for modules to import. */
export function noteSuspending(namespace: typeof WebAssembly): void {
  const { Suspending } = namespace as { Suspending?: Suspending };
  if (Suspending === undefined || noted.has(namespace)) return;
  noted.add(namespace);
  replaceClass(namespace, "Suspending", (args) => {
    const made: object = Reflect.construct(Suspending, args);
    known.set(made, {
      call: args[0] as HostFunction,
      make: (call) => new Suspending(call) as unknown as WebAssembly.ImportValue,
    });
    return made;
  });
}

/** Returns the function that such an object wraps; undefined for all other values. */
export function suspendingImport(value: unknown): SuspendingImport | undefined {
  return typeof value === "object" && value !== null ? known.get(value) : undefined;
}

// Captured now, because the program may replace them.
const { then } = Promise.prototype;
const ready = Promise.resolve();

/**
 * Runs `before` right before a module that waits for `value` resumes, and `after` once it has given up control. Call it
 * before the engine sees the value. Returns false if the value is no promise: the module does not wait.
 */
export function hookResumption(value: unknown, before: () => void, after: () => void): boolean {
  const wait = (react: AnyFunction): unknown => Reflect.apply(then, value, [react, react]);
  try {
    // Reactions run in the order of registration, and the engine's own comes next.
    wait(before);
  } catch {
    return false;
  }
  Reflect.apply(then, ready, [() => wait(after)]);
  return true;
}
