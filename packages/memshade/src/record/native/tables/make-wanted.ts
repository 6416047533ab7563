import { loadObject } from "../../../names/load/objects.ts";
import type { MemoryFile } from "../collect/memory-file.ts";
import { Header } from "../layout.ts";
import { tableKey } from "./table-key.ts";
import type { TableCache } from "./tables-file.ts";

/** Makes tables of objects that a process loads while it runs. The process waits for them. */
export class WantedTables {
  readonly #tables: TableCache;
  #wanted = 0;
  #turn = 0;

  constructor(tables: TableCache) {
    this.#tables = tables;
  }

  /**
   * Makes missing tables. Call this often.
   * @param program the file that the process runs
   */
  make(memory: MemoryFile, program = ""): void {
    const wanted = memory.header(Header.wanted);
    if (wanted === this.#wanted) return;
    this.#wanted = wanted;
    for (const { isObject, name, tableKey } of memory.modules())
      if (isObject && tableKey !== "") this.#makeOf(name || program, tableKey);
    // Ends the wait, even if no table could be made.
    memory.setHeader(Header.tablesTurn, ++this.#turn);
  }

  #makeOf(path: string, key: string): void {
    if (path === "") return;
    try {
      const { object } = loadObject(path);
      if (tableKey(object) === key) this.#tables.make(object);
    } catch {
      // The file is gone or is no object, such as the kernel's own. Stacks end there.
    }
  }
}
