import { partitionPoint } from "../../../ground/bytes/partition-point.ts";
import { StreamType, THREAD_BYTES } from "./layout.ts";
import { type Location, locationAt, type MinidumpFile, u64At } from "./streams.ts";

interface MemoryPiece extends Location {
  readonly start: number;
}

/** The memory in a minidump: stacks of threads, and what the memory lists have. */
export class MinidumpMemory {
  readonly #file: MinidumpFile;
  /** By address, without overlaps. */
  readonly #pieces: readonly MemoryPiece[];

  constructor(file: MinidumpFile) {
    this.#file = file;
    this.#pieces = withoutOverlaps([...stacks(file), ...memoryList(file), ...memory64List(file)]);
  }

  /** Bytes at an address, up to the end of the piece that holds it. */
  read(address: number, length: number): Uint8Array {
    const pieces = this.#pieces;
    const piece = pieces[partitionPoint(0, pieces.length, (index) => pieces[index]!.start <= address) - 1];
    const into = piece === undefined ? 0 : address - piece.start;
    if (piece === undefined || into >= piece.size) return new Uint8Array(0);
    return this.#file.bytes({ offset: piece.offset + into, size: Math.min(length, piece.size - into) });
  }
}

function* stacks(file: MinidumpFile): Generator<MemoryPiece> {
  for (const entry of file.list(StreamType.ThreadList, THREAD_BYTES))
    yield { start: u64At(entry, 24), ...locationAt(entry, 32) };
}

function* memoryList(file: MinidumpFile): Generator<MemoryPiece> {
  for (const entry of file.list(StreamType.MemoryList, 16))
    yield { start: u64At(entry, 0), ...locationAt(entry, 8) };
}

/** Ranges with 64-bit sizes, whose contents follow each other from one offset on. */
function* memory64List(file: MinidumpFile): Generator<MemoryPiece> {
  const stream = file.stream(StreamType.Memory64List);
  if (stream.byteLength < 16) return;
  let offset = u64At(stream, 8);
  const count = Math.min(u64At(stream, 0), Math.floor((stream.byteLength - 16) / 16));
  for (let index = 0; index < count; index++) {
    const at = 16 + index * 16;
    const size = u64At(stream, at + 8);
    yield { start: u64At(stream, at), size, offset };
    offset += size;
  }
}

/** Sorted by address; where pieces overlap, which is the same memory twice, the longer of two with one start is kept. */
function withoutOverlaps(pieces: readonly MemoryPiece[]): MemoryPiece[] {
  const sorted = pieces.filter(({ size }) => size > 0).sort((a, b) => a.start - b.start || b.size - a.size);
  const kept: MemoryPiece[] = [];
  let end = Number.NEGATIVE_INFINITY;
  for (const { start, size, offset } of sorted) {
    if (start + size <= end) continue;
    const into = Math.max(0, end - start);
    kept.push({ start: start + into, size: size - into, offset: offset + into });
    end = start + size;
  }
  return kept;
}
