const PAGE_BYTES = 4096;

/** Memory of a process: pages at any address below 2^53. A read of an unmapped page fails the test. */
export class FakeMemory {
  readonly #pages = new Map<number, DataView>();
  #linear: { start: number; view: DataView } | undefined;
  /** Called for reads of unmapped memory. */
  readElse: (address: number, length: number) => Uint8Array | undefined = () => undefined;

  map(start: number, bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; at += PAGE_BYTES) {
      const page = new Uint8Array(PAGE_BYTES);
      page.set(bytes.subarray(at, at + PAGE_BYTES));
      this.#pages.set((start + at) / PAGE_BYTES, new DataView(page.buffer));
    }
  }

  mapView(start: number, view: DataView): void {
    this.#linear = { start, view };
  }

  isMapped(address: number): boolean {
    return this.#find(address, 1) !== undefined || this.readElse(address, 8)?.length === 8;
  }

  load8(address: number): number {
    return this.#read(address, 1).getUint8(0);
  }

  load32(address: number): number {
    return this.#read(address, 4).getUint32(0, true);
  }

  load64(address: number): bigint {
    return this.#read(address, 8).getBigUint64(0, true);
  }

  store32(address: number, value: number): void {
    this.#found(address, 4).setUint32(0, value, true);
  }

  store64(address: number, value: bigint): void {
    this.#found(address, 8).setBigUint64(0, value, true);
  }

  write(address: number, bytes: Uint8Array): void {
    bytes.forEach((byte, i) => {
      this.#found(address + i, 1).setUint8(0, byte);
    });
  }

  text(address: number): string {
    let text = "";
    for (let at = address; this.load8(at) !== 0; at++) text += String.fromCharCode(this.load8(at));
    return text;
  }

  #find(address: number, bytes: number): DataView | undefined {
    if (this.#linear !== undefined && address >= this.#linear.start && address < this.#linear.start + 2 ** 32)
      return new DataView(this.#linear.view.buffer, address - this.#linear.start, bytes);
    const page = this.#pages.get(Math.floor(address / PAGE_BYTES));
    const at = address % PAGE_BYTES;
    return page === undefined || at + bytes > PAGE_BYTES ? undefined : new DataView(page.buffer, at, bytes);
  }

  #found(address: number, bytes: number): DataView {
    const found = this.#find(address, bytes);
    if (found === undefined) throw new Error(`nothing is mapped at 0x${address.toString(16)}`);
    return found;
  }

  #read(address: number, bytes: number): DataView {
    const found = this.#find(address, bytes);
    if (found !== undefined) return found;
    const read = this.readElse(address, bytes);
    if (read?.length !== bytes) throw new Error(`nothing is mapped at 0x${address.toString(16)}`);
    return new DataView(read.buffer, read.byteOffset, bytes);
  }
}
