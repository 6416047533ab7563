import { ACCESS_KIND, AccessKind, iterateInstructions, POP_COUNT, PUSH_COUNT } from "../../../wasm/index.ts";

/**
 * Whether a loop that is one basic block, at `[start, end)`, goes on by what it loads in the same trip, as where it looks for the end of
 * a text. What is counted, or goes on until an address is reached, does not.
 */
export function isSearch(bytes: Uint8Array, start: number, end: number): boolean {
  /** Of each operand and local: whether it comes from such a load. */
  const stack: boolean[] = [];
  const locals = new Map<number, boolean>();
  for (const { id, name, immediates } of iterateInstructions(bytes, start, end)) {
    const local = "index" in immediates ? Number(immediates.index) : -1;
    switch (name) {
      case "local.get":
        stack.push(locals.get(local) ?? false);
        break;
      case "local.set":
        locals.set(local, stack.pop() ?? false);
        break;
      case "local.tee":
        locals.set(local, stack.at(-1) ?? false);
        break;
      case "br_if":
        if (stack.pop() === true) return true;
        break;
      default: {
        if (POP_COUNT[id] < 0 || PUSH_COUNT[id] < 0) return false;
        const operands = POP_COUNT[id] === 0 ? [] : stack.splice(-POP_COUNT[id]);
        const isLoaded = ACCESS_KIND[id] === AccessKind.Load || operands.includes(true);
        for (let i = 0; i < PUSH_COUNT[id]; i++) stack.push(isLoaded);
      }
    }
  }
  return false;
}
