import { type AnyFunction, replaceClass } from "./replace-property.ts";

type HostFunction = (...operands: unknown[]) => unknown;
type Suspending = new (call: HostFunction) => object;

/** A function that modules import to wait for the promise that it returns: WebAssembly's JavaScript promise integration. */
export interface SuspendingImport {
  call: HostFunction;
  /** What a module is to import for another function in its place. */
  make(call: HostFunction): WebAssembly.ImportValue;
}

/** What is known of the objects that stand for such functions, which do not tell themselves. */
const known = new WeakMap<object, SuspendingImport>();

const noted = new WeakSet<object>();

/** Notes the functions that are made objects for modules to import, from now on. */
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

/** The function that such an object stands for; undefined for everything else. */
export function suspendingImport(value: unknown): SuspendingImport | undefined {
  return typeof value === "object" && value !== null ? known.get(value) : undefined;
}

// The program may replace them.
const { then } = Promise.prototype;
const ready = Promise.resolve();

/**
 * Has `before` run right before a module goes on that waits for `value`, and `after` when it has control no more. To be called before
 * the engine gets to see it. False: it is no promise, so the module does not wait.
 */
export function aroundResumption(value: unknown, before: () => void, after: () => void): boolean {
  const wait = (react: AnyFunction): unknown => Reflect.apply(then, value, [react, react]);
  try {
    // Reactions run in the order in which they were asked for, and the engine's own comes next.
    wait(before);
  } catch {
    return false;
  }
  Reflect.apply(then, ready, [() => wait(after)]);
  return true;
}
