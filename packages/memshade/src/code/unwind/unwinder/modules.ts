import { partitionPoint } from "../../../ground/bytes/columns.ts";
import type { UnwindTable } from "../tables/unwind-table.ts";

/** Object in the address space of the target. */
export interface Module {
  /** Range of addresses in the process (AVMA) that belongs to it. */
  readonly start: number;
  readonly end: number;
  /** Address in the process minus address in the object. */
  readonly bias: number;
  /** Unwind rules of its code; undefined if the object is not available. */
  readonly table?: UnwindTable | undefined;
  /** Name for display, usually a path. */
  readonly name?: string | undefined;
  /** Reads bytes of the object's file at an address of the object (SVMA), for code that is not in memory. */
  readonly readCode?: ((address: number, length: number) => Uint8Array) | undefined;
  /**
   * Returns the module with a smaller range, for modules with more properties than these; by default a copy is
   * made.
   */
  readonly part?: ((start: number, end: number) => Module) | undefined;
}

function partOf<Kind extends Module>(module: Kind, start: number, end: number): Kind {
  return (module.part?.(start, end) as Kind | undefined) ?? { ...module, start, end };
}

/**
 * Modules of a process by address: sorted, without overlaps, one per object or mapping.
 *
 * @example
 * ```ts
 * import assert from "node:assert";
 * import { ModuleMap } from "memshade/unwind";
 *
 * const modules = new ModuleMap();
 * modules.add({ start: 0x1000, end: 0x2000, bias: 0x1000, name: "app" });
 * assert.equal(modules.find(0x1fff)?.name, "app");
 * assert.equal(modules.find(0x2000), undefined);
 * ```
 */
export class ModuleMap<Kind extends Module = Module> {
  readonly #modules: Kind[] = [];
  #version = 0;

  /** Number that changes with every change of the map. */
  get version(): number {
    return this.#version;
  }

  get all(): readonly Kind[] {
    return this.#modules;
  }

  /**
   * Adds a module. Ranges of other modules that it covers are removed from them, as when a new mapping replaces old
   * ones.
   */
  add(module: Kind): void {
    if (!(module.end > module.start)) return;
    this.remove(module.start, module.end);
    this.#modules.splice(this.#indexAfter(module.start), 0, module);
    this.#version++;
  }

  /** Removes a range of addresses from all modules; their other parts stay. */
  remove(start: number, end: number): void {
    const modules = this.#modules;
    this.#version++;
    let first = this.#indexAfter(start);
    if (first > 0 && modules[first - 1].end > start) first--;
    let last = first;
    const remainders: Kind[] = [];
    for (; last < modules.length && modules[last].start < end; last++) {
      const module = modules[last];
      if (module.start < start) remainders.push(partOf(module, module.start, start));
      if (module.end > end) remainders.push(partOf(module, end, module.end));
    }
    if (last > first) modules.splice(first, last - first, ...remainders);
  }

  /** Returns the module at an address (AVMA). */
  find(address: number): Kind | undefined {
    const module = this.#modules[this.#indexAfter(address) - 1];
    return module !== undefined && address < module.end ? module : undefined;
  }

  #indexAfter(address: number): number {
    const modules = this.#modules;
    return partitionPoint(0, modules.length, (index) => modules[index].start <= address);
  }
}
