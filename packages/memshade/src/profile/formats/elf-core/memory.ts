import type { ObjectSegment } from "../../../code/objects/index.ts";
import type { ByteSource } from "../../../ground/bytes/byte-source.ts";
import { partitionPoint } from "../../../ground/bytes/partition-point.ts";

/** The memory of a process in a core dump, read page by page. */
export class CoreMemory {
  readonly #source: ByteSource;
  /** By address; what lies outside of the file is cut off. */
  readonly #pieces: readonly MemoryPiece[];
  /** Ranges that the process had, dumped or not, by address. */
  readonly #ranges: readonly { start: number; end: number }[];

  constructor(source: ByteSource, segments: readonly ObjectSegment[]) {
    this.#source = source;
    this.#pieces = segments
      .map(({ address, fileOffset, fileSize }) => ({
        start: address,
        end: address + Math.min(fileSize, Math.max(0, source.size - fileOffset)),
        fileOffset,
      }))
      .filter(({ start, end }) => end > start)
      .sort((a, b) => a.start - b.start);
    this.#ranges = segments
      .map(({ address, memorySize }) => ({ start: address, end: address + memorySize }))
      .sort((a, b) => a.start - b.start);
  }

  /** Where the memory ends that begins at or before an address and goes on without a gap, dumped or not. */
  endOfRange(address: number): number {
    let end = address;
    for (const range of this.#ranges) {
      if (range.start > end) break;
      end = Math.max(end, range.end);
    }
    return end;
  }

  /** Where the dumped piece ends that holds an address; the address itself if none does. */
  endOfPiece(address: number): number {
    return this.#pieces[this.#pieceAt(address)]?.end ?? address;
  }

  /** Bytes at an address, up to the end of what was dumped there without a gap. */
  read(address: number, length: number): Uint8Array {
    const first = this.#pieceAt(address);
    const piece = this.#pieces[first];
    if (piece === undefined) return new Uint8Array(0);
    if (address + length <= piece.end) return this.#readPiece(piece, address, length);
    const parts: Uint8Array[] = [];
    let at = address;
    for (let index = first; index < this.#pieces.length && at < address + length; index++) {
      const next = this.#pieces[index]!;
      if (next.start > at || next.end <= at) break;
      const part = this.#readPiece(next, at, Math.min(next.end, address + length) - at);
      parts.push(part);
      at += part.length;
      if (at < next.end) break;
    }
    return join(parts, at - address);
  }

  #readPiece({ start, fileOffset }: MemoryPiece, address: number, length: number): Uint8Array {
    return this.#source.read(fileOffset + address - start, length);
  }

  /** Index of the piece that holds an address, −1 if none does. */
  #pieceAt(address: number): number {
    const pieces = this.#pieces;
    const last = partitionPoint(0, pieces.length, (index) => pieces[index]!.start <= address) - 1;
    return last >= 0 && address < pieces[last]!.end ? last : -1;
  }
}

interface MemoryPiece {
  readonly start: number;
  readonly end: number;
  readonly fileOffset: number;
}

function join(parts: readonly Uint8Array[], length: number): Uint8Array {
  if (parts.length === 1) return parts[0]!;
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
