import type { SpillFile } from "../../../src/profile/model/memprof/index.ts";

/** Spill files for tests: kept in memory, and counted. */
export class MemorySpillFiles {
  open = 0;

  readonly create = (): SpillFile => {
    let bytes = new Uint8Array(0);
    this.open++;
    return {
      get size() {
        return bytes.length;
      },
      append(more) {
        const longer = new Uint8Array(bytes.length + more.length);
        longer.set(bytes);
        longer.set(more, bytes.length);
        bytes = longer;
      },
      read(at, into) {
        into.set(bytes.subarray(at, at + into.length));
      },
      release: () => {
        this.open--;
      },
    };
  };
}
