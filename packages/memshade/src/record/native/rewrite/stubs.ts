import type { ObjectFile } from "../../../code/objects/types.ts";

const ENDBR64 = [0xf3, 0x0f, 0x1e, 0xfa];
const BND = 0xf2;
/** `jmp *slot(%rip)`, four bytes behind these. */
const JUMP_BY_SLOT = [0xff, 0x25];
const DISTANCE_BYTES = 4;

/** Stubs that jump to where the dynamic linker has found a function. */
export class Stubs {
  readonly #object: ObjectFile;
  readonly #base: number;
  readonly #ranges: readonly { start: number; end: number }[];

  /** @param base address (SVMA) that offsets count from */
  constructor(object: ObjectFile, base: number) {
    this.#object = object;
    this.#base = base;
    this.#ranges = object.sections
      .filter(({ name }) => name === ".plt" || name.startsWith(".plt."))
      .map(({ address, size }) => ({ start: address - base, end: address - base + size }));
  }

  has(offset: number): boolean {
    return this.#ranges.some(({ start, end }) => offset >= start && offset < end);
  }

  /** Where the address stands (SVMA) that the stub at an offset jumps to; undefined if it does anything before. */
  slotOf(offset: number): number | undefined {
    if (!this.has(offset)) return undefined;
    const address = this.#base + offset;
    const bytes = this.#object.bytesAt(address, 16);
    let at = ENDBR64.every((byte, i) => bytes[i] === byte) ? ENDBR64.length : 0;
    if (bytes[at] === BND) at++;
    if (JUMP_BY_SLOT.some((byte, i) => bytes[at + i] !== byte)) return undefined;
    at += JUMP_BY_SLOT.length;
    if (at + DISTANCE_BYTES > bytes.length) return undefined;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    return address + at + DISTANCE_BYTES + view.getInt32(at, true);
  }
}
