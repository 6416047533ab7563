import { entryOf } from "../../../../ground/bytes/entries.ts";
/** Distinct call sites of functions, with the targets of their calls. */
export class CallSiteSet {
  readonly #byFunction = new Map<bigint, Map<number, Set<bigint> | undefined>>();

  add(guid: bigint, stack: number, callees: readonly bigint[] | undefined): void {
    const sites = entryOf(this.#byFunction, guid, () => new Map());
    if (callees === undefined || callees.length === 0) {
      if (!sites.has(stack)) sites.set(stack, undefined);
      return;
    }
    const existing = sites.get(stack);
    if (existing === undefined) sites.set(stack, new Set(callees));
    else for (const callee of callees) existing.add(callee);
  }

  renumbered(numberOf: (stack: number) => number): CallSiteSet {
    const copy = new CallSiteSet();
    for (const [guid, sites] of this.#byFunction)
      for (const [stack, callees] of sites)
        copy.add(guid, numberOf(stack), callees === undefined ? undefined : [...callees]);
    return copy;
  }

  functions(): Iterable<bigint> {
    return this.#byFunction.keys();
  }

  stacksOf(guid: bigint): number[] {
    return [...(this.#byFunction.get(guid)?.keys() ?? [])];
  }

  calleesOf(guid: bigint, stack: number): bigint[] {
    return [...(this.#byFunction.get(guid)?.get(stack) ?? [])].sort((a, b) => (a < b ? -1 : 1));
  }
}
