/**
 * Receives 32-bit words of the program, from index `first` up to `end`. `address`: address of the first word.
 */
export type SeeWords = (words: Uint32Array, first: number, end: number, address: number) => void;

export interface ProgramMemory {
  /** Size of an address in bytes; pointers are aligned to it. */
  readonly wordBytes: 4 | 8;
  /**
   * Passes all whole words between two addresses to `visit`, piece by piece. Unreadable words are left out or
   * zero.
   */
  read(from: number, to: number, visit: SeeWords): void;
  /** Returns the 32 bits at an address that is a multiple of 4; 0 if there is no memory. */
  half(address: number): number;
}

/** Wraps memory that is available as a whole, from address 0 on. */
export function flatMemory(buffer: ArrayBufferLike, wordBytes: 4 | 8): ProgramMemory {
  const words = new Uint32Array(buffer, 0, Math.floor(buffer.byteLength / 4));
  const step = wordBytes / 4;
  return {
    wordBytes,
    read(from, to, visit) {
      const first = Math.ceil(from / wordBytes) * step;
      const end = Math.min(Math.floor(to / wordBytes) * step, words.length - (words.length % step));
      if (first < end) visit(words, first, end, 4 * first);
    },
    half: (address) => words[address / 4] ?? 0,
  };
}
