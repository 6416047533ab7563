/** A receiver of words of the program, of 32 bits each, from index `first` up to `end`; `address`: of the first one. */
export type SeeWords = (words: Uint32Array, first: number, end: number, address: number) => void;

/** The memory of a program, to be read word by word. */
export interface ProgramMemory {
  /** Size of an address; pointers are aligned to it. */
  readonly wordBytes: 4 | 8;
  /** Gives the words that lie between two addresses as a whole, piece by piece; what cannot be read is left out, or zero. */
  read(from: number, to: number, see: SeeWords): void;
  /** 32 bits at an address that is a multiple of 4; 0 where there is nothing. */
  half(address: number): number;
}

/** Memory that is here as a whole, from address 0 on. */
export function flatMemory(buffer: ArrayBufferLike, wordBytes: 4 | 8): ProgramMemory {
  const words = new Uint32Array(buffer, 0, Math.floor(buffer.byteLength / 4));
  const step = wordBytes / 4;
  return {
    wordBytes,
    read(from, to, see) {
      const first = Math.ceil(from / wordBytes) * step;
      const end = Math.min(Math.floor(to / wordBytes) * step, words.length - (words.length % step));
      if (first < end) see(words, first, end, 4 * first);
    },
    half: (address) => words[address / 4] ?? 0,
  };
}
