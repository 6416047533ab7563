/** A function with any parameters and any result. */
// biome-ignore lint/suspicious/noExplicitAny: the hooked functions are called with whatever the program passes
export type AnyFunction = (...args: any[]) => any;

/** Replaces a function by a proxy of it, keeping the attributes of the property. */
export function replaceFunction(owner: object, name: string, handler: ProxyHandler<AnyFunction>): void {
  const property = Object.getOwnPropertyDescriptor(owner, name);
  if (typeof property?.value !== "function") return;
  Object.defineProperty(owner, name, { ...property, value: new Proxy(property.value, handler) });
}

/** Replaces a getter by a proxy of it. */
export function replaceGetter(owner: object, name: string, handler: ProxyHandler<AnyFunction>): void {
  const property = Object.getOwnPropertyDescriptor(owner, name);
  if (property?.get === undefined) return;
  Object.defineProperty(owner, name, { ...property, get: new Proxy(property.get, handler) });
}

/**
 * Replaces a class by a proxy of it, also in the `constructor` property of its instances.
 *
 * @param construct makes the object, or returns undefined to leave that to the class.
 */
export function replaceClass(
  owner: object,
  name: string,
  construct: (args: unknown[]) => object | undefined,
): void {
  const property = Object.getOwnPropertyDescriptor(owner, name);
  if (typeof property?.value !== "function") return;
  const native: AnyFunction = property.value;
  const proxy: AnyFunction = new Proxy(native, {
    construct(target, args, newTarget) {
      const made = construct(args);
      if (made === undefined)
        return Reflect.construct(target, args, newTarget === proxy ? target : newTarget);
      return newTarget === proxy ? made : Object.setPrototypeOf(made, newTarget.prototype);
    },
  });
  Object.defineProperty(owner, name, { ...property, value: proxy });
  const back = Object.getOwnPropertyDescriptor(native.prototype, "constructor");
  Object.defineProperty(native.prototype, "constructor", { ...back, value: proxy });
}
