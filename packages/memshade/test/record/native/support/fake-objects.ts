import type { FakeMemory } from "./fake-memory.ts";

/** An object of a fake process. Addresses are in the process. */
export interface FakeObject {
  readonly start: number;
  readonly end: number;
  readonly bias: number;
  readonly name: string;
}

/** Start of the loader's data about objects: 4 KiB for each. */
const LINK_MAPS = 0x7f00_0000_0000;
const HEADER_BYTES = 64;
const NOTE_AT = 256;
const NAME_AT = 512;

/** Model of the loader's data: `_dl_find_object`, link maps, and file headers with a build id note. */
export class FakeObjects {
  readonly #memory: FakeMemory;
  readonly #loaded: (FakeObject & { linkMap: number })[] = [];
  #count = 0;

  constructor(memory: FakeMemory) {
    this.#memory = memory;
  }

  /** Returns the build id that it has chosen. */
  load(object: FakeObject): string {
    const linkMap = LINK_MAPS + 4096 * this.#count++;
    const buildId = new Uint8Array(20).fill(this.#count);
    const page = new Uint8Array(4096);
    const view = new DataView(page.buffer);
    view.setBigUint64(0, BigInt(object.bias), true);
    view.setBigUint64(8, BigInt(linkMap + NAME_AT), true);
    // A note: three words, the name, the build id.
    view.setUint32(NOTE_AT, 4, true);
    view.setUint32(NOTE_AT + 4, buildId.length, true);
    view.setUint32(NOTE_AT + 8, 3, true);
    page.set(new TextEncoder().encode("GNU"), NOTE_AT + 12);
    page.set(buildId, NOTE_AT + 16);
    page.set(new TextEncoder().encode(object.name), NAME_AT);
    this.#memory.map(linkMap, page);
    this.#memory.map(object.start, this.#fileHeader(object, linkMap + NOTE_AT));
    this.#loaded.push({ ...object, linkMap });
    return Buffer.from(buildId).toString("hex");
  }

  unload(name: string): void {
    this.#loaded.splice(
      this.#loaded.findIndex((object) => object.name === name),
      1,
    );
  }

  /** File header with one segment, which holds notes. */
  #fileHeader({ bias }: FakeObject, notes: number): Uint8Array {
    const page = new Uint8Array(4096);
    const view = new DataView(page.buffer);
    view.setUint32(0, 0x464c457f, true);
    view.setBigUint64(32, BigInt(HEADER_BYTES), true);
    view.setUint16(56, 1, true);
    view.setUint32(HEADER_BYTES, 4, true);
    view.setBigUint64(HEADER_BYTES + 16, BigInt(notes - bias), true);
    view.setBigUint64(HEADER_BYTES + 40, 36n, true);
    return page;
  }

  find(address: number, result: number): number {
    const found = this.#loaded.find(({ start, end }) => address >= start && address < end);
    if (found === undefined) return -1;
    this.#memory.store64(result + 8, BigInt(found.start));
    this.#memory.store64(result + 16, BigInt(found.end));
    this.#memory.store64(result + 24, BigInt(found.linkMap));
    return 0;
  }
}
