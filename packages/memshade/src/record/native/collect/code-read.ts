import type { ObjectFile } from "../../../code/objects/index.ts";
import { frameEntries } from "../../../code/unwind/index.ts";
import { Instruction } from "../../../code/x64/decode/index.ts";
import { loadObject } from "../../../names/load/objects.ts";
import type { GranuleCounters } from "../../tools/heap/read/granule-counters.ts";
import { GRANULE_SHIFT } from "../layout.ts";
import { fillerBytes } from "../rewrite/code.ts";
import { isRewritten, type RewrittenFile } from "../rewritten/rewrite-files.ts";
import { CountsFile } from "../tools/waste/read/counts-file.ts";
import { LINE_SHIFT } from "../tools/working-set/layout.ts";
import type { MarkedLines } from "../tools/working-set/read/marked-lines.ts";
import type { ProcessModule } from "./modules.ts";

/** Records of inserted code about the memory that a process has read; at most one is defined. */
export interface NotedReads {
  readonly counters: GranuleCounters | undefined;
  /** Path of the file with a word per byte. */
  readonly counts: string | undefined;
  readonly lines: Pick<MarkedLines, "read"> | undefined;
}

/** Units of memory, numbered by address. */
interface ReadUnits {
  readonly bytes: number;
  /** Returns a number per unit of `[first, end)`, not 0 if a byte of the unit was read. */
  read(first: number, end: number): ArrayLike<number>;
}

const EXECUTABLE = 1;
const PIECE_BYTES = 2 ** 20;
const MOST_INSTRUCTION_BYTES = 15;

/**
 * Returns files whose rewritten code a process has read where it differs from the original. The program's
 * result may be wrong then.
 * @param modules modules of the process
 */
export function filesReadAsData(
  modules: readonly ProcessModule[],
  files: readonly RewrittenFile[],
  { counters, counts, lines }: NotedReads,
): RewrittenFile[] {
  const among = (units: ReadUnits): RewrittenFile[] =>
    files.filter((file) => {
      const loaded = modules.filter(({ mark }) => mark === file.mark);
      return isRewritten(file) && loaded.some((module) => isCodeRead(file, module, units));
    });
  if (counters !== undefined)
    return among({
      bytes: 2 ** GRANULE_SHIFT,
      read: (first, end) => counters.read(first, end).map((count) => count & 1),
    });
  if (lines !== undefined)
    return among({ bytes: 2 ** LINE_SHIFT, read: (first, end) => lines.read(first, end) });
  if (counts === undefined) return [];
  const file = new CountsFile(counts);
  try {
    return among({ bytes: 1, read: (first, end) => file.words(first, end) });
  } finally {
    file.close();
  }
}

function isCodeRead(file: RewrittenFile, { name, bias }: ProcessModule, units: ReadUnits): boolean {
  const [original, rewritten] = [file.original, file.path].map((path) => loadObject(path).object);
  // Data may lie at the addresses of an unloaded library. The program, whose name is empty, stays
  // loaded.
  return (
    (name === "" && isNewCodeRead(original, rewritten, bias, units)) ||
    isChangeRead(original, rewritten, bias, units)
  );
}

function isChangeRead(original: ObjectFile, rewritten: ObjectFile, bias: number, units: ReadUnits): boolean {
  let functions: Functions | undefined;
  for (const { flags, address, fileSize } of original.segments) {
    if ((flags & EXECUTABLE) === 0) continue;
    for (let from = address; from < address + fileSize; from += PIECE_BYTES) {
      const bytes = Math.min(PIECE_BYTES, address + fileSize - from);
      const first = Math.floor((from + bias) / units.bytes);
      const read = units.read(first, Math.ceil((from + bias + bytes) / units.bytes));
      let changed: Uint8Array | undefined;
      for (let i = 0; i < read.length; i++) {
        if (read[i] === 0) continue;
        changed ??= changes(original.bytesAt(from, bytes), rewritten.bytesAt(from, bytes));
        const place = (first + i) * units.bytes - bias;
        const start = Math.max(place - from, 0);
        if (!changed.subarray(start, place - from + units.bytes).includes(1)) continue;
        functions ??= new Functions(original);
        // Data between functions may be read.
        if (functions.fill(place, place + units.bytes)) return true;
      }
    }
  }
  return false;
}

/** Returns true if added code was read, for example by a return address. Its lines contain nothing else. */
function isNewCodeRead(
  original: ObjectFile,
  rewritten: ObjectFile,
  bias: number,
  { bytes, read }: ReadUnits,
): boolean {
  const oldAddresses = new Set(original.segments.map(({ address }) => address));
  return rewritten.segments.some(({ flags, address, fileSize }) => {
    if ((flags & EXECUTABLE) === 0 || oldAddresses.has(address)) return false;
    for (let from = address; from < address + fileSize; from += PIECE_BYTES) {
      const end = Math.min(from + PIECE_BYTES, address + fileSize);
      const found = read(Math.floor((from + bias) / bytes), Math.ceil((end + bias) / bytes));
      if (Array.prototype.some.call(found, (count: number) => count !== 0)) return true;
    }
    return false;
  });
}

function changes(before: Uint8Array, after: Uint8Array): Uint8Array {
  return before.map((byte, i) => (byte === after[i] ? 0 : 1));
}

class Functions {
  readonly #object: ObjectFile;
  readonly #ranges: { start: number; end: number }[];

  constructor(object: ObjectFile) {
    this.#object = object;
    this.#ranges = frameEntries(object)
      .map(({ start, size }) => ({ start, end: start + size }))
      .sort((a, b) => a.start - b.start);
  }

  /** Returns true if a range contains only functions and filler between them. */
  fill(start: number, end: number): boolean {
    const instruction = new Instruction();
    let i = this.#ranges.findLastIndex((range) => range.start <= start);
    if (i < 0) return false;
    for (let at = this.#ranges[i].end; at < end; ) {
      const range = this.#ranges[i + 1];
      if (range !== undefined && range.start <= at) {
        at = Math.max(at, range.end);
        i++;
      } else {
        const next = this.#object.bytesAt(at, MOST_INSTRUCTION_BYTES);
        // Zeros fill the space between sections.
        const bytes = next[0] === 0 ? 1 : fillerBytes(next, 0, instruction);
        if (bytes === 0) return false;
        at += bytes;
      }
    }
    return true;
  }
}
