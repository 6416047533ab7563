/** Loads of one block that are remembered, the newest of them; more hardly ever come before a store. */
const MOST_LOADS = 8;

interface Bytes {
  /** Value number of the address, and the constant added to it. */
  base: number;
  offset: number;
  size: number;
}

/**
 * Bytes of which the basic block at hand has loaded every one since somebody may have stored there: a store over them
 * overwrites nothing that nobody has read.
 */
export class SettledBytes {
  readonly #loads: Bytes[] = [];

  /** The block ends, or something may have been stored anywhere. */
  forget(): void {
    this.#loads.length = 0;
  }

  loaded(base: number, offset: number, size: number): void {
    if (base === 0) return;
    if (this.#loads.length === MOST_LOADS) this.#loads.shift();
    this.#loads.push({ base, offset, size });
  }

  /** Whether a store finds all of its bytes loaded. Other bases may be the same address. */
  store(base: number, offset: number, size: number): boolean {
    const end = offset + size;
    const isSettled = this.#loads.some(
      (load) => load.base === base && load.offset <= offset && load.offset + load.size >= end,
    );
    const left = this.#loads.filter(
      (load) => load.base === base && (load.offset >= end || load.offset + load.size <= offset),
    );
    this.#loads.splice(0, this.#loads.length, ...left);
    return isSettled;
  }
}
