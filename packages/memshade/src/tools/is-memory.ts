const { get: buffer } = Object.getOwnPropertyDescriptor(WebAssembly.Memory.prototype, "buffer")!;

/** Whether a value is a memory, also one from another context of this thread, which has classes of its own. */
export function isMemory(value: unknown): value is WebAssembly.Memory {
  try {
    Reflect.apply(buffer as () => unknown, value, []);
    return true;
  } catch {
    return false;
  }
}
