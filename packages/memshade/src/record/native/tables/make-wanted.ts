import { loadObject } from "../../../names/load/objects.ts";
import type { MemoryFile } from "../collect/memory-file.ts";
import { Header } from "../layout.ts";
import { tableKey } from "./table-key.ts";
import type { TableCache } from "./tables-file.ts";

/** Makes tables of what a process loads while it runs, which waits for them when it meets an object without. */
export class WantedTables {
  readonly #tables: TableCache;
  #wanted = 0;
  #turn = 0;

  constructor(tables: TableCache) {
    this.#tables = tables;
  }

  /** To be called often. `program`: the file that the process runs, where its tables are not made yet. */
  make(memory: MemoryFile, program = ""): void {
    const wanted = memory.header(Header.wanted);
    if (wanted === this.#wanted) return;
    this.#wanted = wanted;
    for (const { isObject, name, tableKey } of memory.modules())
      if (isObject && tableKey !== "") this.#makeOf(name || program, tableKey);
    // Whether or not there are any: nobody waits any longer.
    memory.setHeader(Header.tablesTurn, ++this.#turn);
  }

  #makeOf(path: string, key: string): void {
    if (path === "") return;
    try {
      const { object } = loadObject(path);
      if (tableKey(object) === key) this.#tables.make(object);
    } catch {
      // It is gone, or it is none, as the kernel's own: stacks end there.
    }
  }
}
