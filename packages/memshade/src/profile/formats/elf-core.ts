import {
  type ElfNote,
  type ObjectSegment,
  openObject,
  PT_NOTE,
  readNotes,
  readString,
} from "../../code/objects/index.ts";
import type { ByteSource } from "../../ground/bytes/byte-source.ts";
import { partitionPoint } from "../../ground/bytes/columns.ts";
import { FormatError } from "../../ground/bytes/errors.ts";
import { concatenated } from "../../ground/bytes/file-piece.ts";
import { getU64, viewOf } from "../../ground/bytes/numbers.ts";
import {
  type MappedFile,
  type ProcessArchitecture,
  type ProcessImage,
  type ProcessThread,
  REGISTER_COUNT,
  type RegisterWords,
} from "../model/process-image.ts";

const AT_SYSINFO_EHDR = 33;
const AT_EXECFN = 31;
const CLASS_32 = 1;
const BIG_ENDIAN = 2;

export function isElfCore(source: ByteSource): boolean {
  const start = source.read(0, 18);
  const type = start[5] === BIG_ENDIAN ? start[17] : start[16];
  return start.length === 18 && start[0] === 0x7f && start[1] === 0x45 && start[2] === 0x4c && type === 4;
}

/**
 * Opens a core dump of a 64-bit process (x86-64, AArch64). Notes are read immediately, memory on demand, so the source
 * must stay open. A truncated dump is read up to its end.
 *
 * @throws FormatError if the file is no such dump, or has no thread
 */
export function readElfCore(source: ByteSource): ProcessImage {
  const [, , , , elfClass, byteOrder] = source.read(0, 6);
  if (byteOrder === BIG_ENDIAN)
    throw new FormatError("unsupported", 5, "core dump", "dumps of big-endian machines are not supported");
  const core = openObject(source);
  const { architecture, type, programHeaders, segments } = core;
  if (type !== "core")
    throw new FormatError("bad-magic", 16, "core dump", "the file is an ELF object, not a dump");
  if (architecture !== "x86_64" && architecture !== "aarch64")
    throw new FormatError(
      "unsupported",
      18,
      "core dump",
      `dumps of ${architecture === "other" ? "these" : architecture} programs are not supported`,
    );
  if (elfClass === CLASS_32) {
    const name = architecture === "x86_64" ? "x32" : "ILP32";
    const detail = `dumps of ${name} programs (32-bit addresses on ${architecture}) are not supported`;
    throw new FormatError("unsupported", 4, "core dump", detail);
  }
  const memory = new CoreMemory(source, segments);
  const gaps = core.problems.map(({ message }) => message);
  const lastByte = programHeaders.reduce(
    (end, header) => Math.max(end, header.fileOffset + header.fileSize),
    0,
  );
  if (lastByte > source.size)
    gaps.push(`The dump was cut off: ${source.size} of ${lastByte} bytes are there.`);

  const threads: ProcessThread[] = [];
  const facts: CoreFacts = { files: undefined, auxiliary: new Map() };
  for (const { fileOffset, fileSize } of programHeaders.filter((header) => header.type === PT_NOTE))
    readNoteSegment(source.read(fileOffset, fileSize), architecture, threads, facts);
  if (threads.length === 0) throw new FormatError("malformed", 0, "core dump", "the dump has no threads");
  const files = mappedFiles(memory, facts, gaps);
  return {
    architecture,
    pid: facts.pid,
    command: facts.command,
    signal: facts.signal,
    threads,
    files,
    pointerAuthenticationMask: facts.mask,
    readMemory: (address, length) => memory.read(address, length),
    gaps,
  };
}

interface CoreFacts {
  pid?: number;
  name?: string;
  command?: string;
  signal?: number;
  mask?: readonly [number, number];
  files: MappedFile[] | undefined;
  auxiliary: Map<number, number>;
}

function readNoteSegment(
  bytes: Uint8Array,
  architecture: ProcessArchitecture,
  threads: ProcessThread[],
  facts: CoreFacts,
): void {
  for (const note of readNotes(bytes))
    if (note.owner === "CORE") {
      switch (note.type) {
        case NoteType.Prstatus: {
          const { lwp, signal, registers } = readThreadStatus(note, architecture);
          if (threads.length === 0) facts.signal = signal;
          threads.push({ lwp, registers });
          break;
        }
        case NoteType.Prpsinfo:
          Object.assign(facts, readProcessInfo(note));
          break;
        case NoteType.Auxv:
          facts.auxiliary = readAuxiliaryVector(note);
          break;
        case NoteType.File:
          facts.files = readMappedFiles(note);
          break;
      }
    } else if (note.owner === "LINUX" && note.type === NoteType.ArmPacMask) {
      const mask = readCodeAddressMask(note);
      if (mask !== undefined) facts.mask = mask;
    }
}

/** Returns the mapped files with the build ids found in the dump, and the kernel's library (vDSO). */
function mappedFiles(
  memory: CoreMemory,
  { files, auxiliary, name, command }: CoreFacts,
  gaps: string[],
): MappedFile[] {
  const found = files ? withBuildIds(files, memory) : [];
  if (files === undefined) {
    gaps.push(
      "The dump does not say which files were mapped; the auxiliary vector and the linker's list do.",
    );
    const executable = textAt(memory, auxiliary.get(AT_EXECFN)) || command?.split(" ")[0] || name || "";
    found.push(...loadedObjects(memory, auxiliary, executable));
  }
  const vdso = auxiliary.get(AT_SYSINFO_EHDR);
  if (vdso !== undefined && memory.endOfPiece(vdso) > vdso)
    found.push({ start: vdso, end: memory.endOfPiece(vdso), fileOffset: 0, path: "[vdso]" });
  return found.sort((a, b) => a.start - b.start);
}

/** Adds the build id of each file whose first page (headers and notes) is in the dump. */
function withBuildIds(files: readonly MappedFile[], memory: CoreMemory): MappedFile[] {
  const buildIds = new Map<string, string | undefined>();
  for (const { path, start, end, fileOffset } of files) {
    if (fileOffset !== 0 || buildIds.has(path)) continue;
    buildIds.set(path, buildIdInMemory(memory, start, end - start));
  }
  return files.map((file) => ({ ...file, buildId: buildIds.get(file.path) }));
}

function buildIdInMemory(memory: CoreMemory, start: number, size: number): string | undefined {
  try {
    return openObject({
      size,
      read: (offset, length) => memory.read(start + offset, Math.min(length, size - offset)),
    }).buildId;
  } catch (error) {
    if (error instanceof FormatError) return undefined;
    throw error;
  }
}

class CoreMemory {
  readonly #source: ByteSource;
  /** Dumped ranges by address, without the parts beyond the end of the file. */
  readonly #pieces: readonly MemoryPiece[];
  /** Ranges that the process had mapped, dumped or not, by address. */
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

  /** Returns the end of the gapless memory that begins at or before an address, dumped or not. */
  endOfRange(address: number): number {
    let end = address;
    for (const range of this.#ranges) {
      if (range.start > end) break;
      end = Math.max(end, range.end);
    }
    return end;
  }

  /** Returns the end of the dumped piece that holds an address, or the address itself if no piece holds it. */
  endOfPiece(address: number): number {
    return this.#pieces[this.#pieceAt(address)]?.end ?? address;
  }

  /** Returns the bytes at an address, up to the first byte that was not dumped. */
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
    return parts.length === 1 ? parts[0]! : concatenated(parts);
  }

  #readPiece({ start, fileOffset }: MemoryPiece, address: number, length: number): Uint8Array {
    return this.#source.read(fileOffset + address - start, length);
  }

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

const LONGEST_PATH = 4096;

function textAt(memory: CoreMemory, address: number | undefined): string {
  if (address === undefined || address === 0) return "";
  const bytes = memory.read(address, LONGEST_PATH);
  const end = bytes.indexOf(0);
  return end < 0 ? "" : new TextDecoder().decode(bytes.subarray(0, end));
}

const AT_PHDR = 3;
const AT_PHENT = 4;
const AT_PHNUM = 5;

const PT_LOAD = 1;
const PT_DYNAMIC = 2;
const PT_PHDR = 6;
const DT_DEBUG = 21;

/** Bound on the list of objects: a damaged list may be circular. */
const MOST_OBJECTS = 10_000;

interface ProgramHeader {
  readonly type: number;
  readonly fileOffset: number;
  readonly address: number;
  readonly memorySize: number;
}

/**
 * Returns the executable and the libraries in the dynamic linker's list (`r_debug`, `link_map`), for dumps that do not
 * name mapped files. A library's ranges are known only if its headers are in the dump.
 */
function loadedObjects(
  memory: CoreMemory,
  auxiliary: ReadonlyMap<number, number>,
  executable: string,
): MappedFile[] {
  const address = auxiliary.get(AT_PHDR);
  const headers = address === undefined ? [] : readHeaders(memory, address, auxiliary);
  if (address === undefined) return [];
  if (headers.length === 0) {
    // The headers were not dumped. They lie in the first page of the executable.
    const start = pageStart(address);
    const end = memory.endOfRange(start);
    return end > start ? [{ start, end, fileOffset: 0, path: executable }] : [];
  }
  const own = headers.find(({ type }) => type === PT_PHDR);
  const first = headers.find(({ type }) => type === PT_LOAD);
  // Static executables often have no PT_PHDR: the headers follow the file header, at the start of the first load.
  const bias = own ? address - own.address : first ? pageStart(address) - pageStart(first.address) : 0;
  const files = rangesOf(headers, bias, executable);
  const dynamic = headers.find(({ type }) => type === PT_DYNAMIC);
  if (dynamic !== undefined) files.push(...librariesOf(memory, dynamic, bias));
  return files;
}

function readHeaders(
  memory: CoreMemory,
  address: number,
  auxiliary: ReadonlyMap<number, number>,
): ProgramHeader[] {
  const entrySize = auxiliary.get(AT_PHENT) ?? 56;
  const count = Math.min(auxiliary.get(AT_PHNUM) ?? 0, 0xffff);
  if (entrySize < 56) return [];
  const bytes = memory.read(address, count * entrySize);
  const view = viewOf(bytes);
  return Array.from({ length: Math.floor(bytes.length / entrySize) }, (_, index) => {
    const at = index * entrySize;
    return {
      type: view.getUint32(at, true),
      fileOffset: getU64(view, at + 8),
      address: getU64(view, at + 16),
      memorySize: getU64(view, at + 40),
    };
  });
}

function rangesOf(headers: readonly ProgramHeader[], bias: number, path: string): MappedFile[] {
  return headers
    .filter(({ type }) => type === PT_LOAD)
    .map(({ address, fileOffset, memorySize }) => ({
      start: pageStart(bias + address),
      end: pageStart(bias + address + memorySize + PAGE - 1),
      fileOffset: pageStart(fileOffset),
      path,
    }));
}

/** Walks `link_map`: bias, name, dynamic section, next. */
function librariesOf(memory: CoreMemory, dynamic: ProgramHeader, bias: number): MappedFile[] {
  const debug = dynamicEntry(memory, bias + dynamic.address, dynamic.memorySize, DT_DEBUG);
  // Layout of r_debug: version, padding, then the pointer to the first link_map.
  let entry = debug ? word(memory, debug + 8) : 0;
  const files: MappedFile[] = [];
  for (let count = 0; entry !== 0 && count < MOST_OBJECTS; count++) {
    const base = word(memory, entry);
    const path = textAt(memory, word(memory, entry + 8));
    // The first entry is the executable itself, without a name.
    if (path !== "") files.push(...libraryRanges(memory, base, path));
    entry = word(memory, entry + 24);
  }
  return files;
}

function libraryRanges(memory: CoreMemory, base: number, path: string): MappedFile[] {
  const start = memory.read(base, 64);
  const view = viewOf(start);
  if (start.length < 64 || view.getUint32(0, true) !== 0x464c457f)
    return [{ start: base, end: base + PAGE, fileOffset: 0, path }];
  const sizes = new Map([
    [AT_PHENT, view.getUint16(54, true)],
    [AT_PHNUM, view.getUint16(56, true)],
  ]);
  return rangesOf(readHeaders(memory, base + getU64(view, 32), sizes), base, path);
}

function dynamicEntry(memory: CoreMemory, address: number, size: number, tag: number): number | undefined {
  const bytes = memory.read(address, Math.min(size, 2 ** 16));
  const view = viewOf(bytes);
  for (let at = 0; at + 16 <= bytes.length; at += 16)
    if (getU64(view, at) === tag) return getU64(view, at + 8);
  return undefined;
}

const PAGE = 4096;

function pageStart(address: number): number {
  return address - (address % PAGE);
}

function word(memory: CoreMemory, address: number): number {
  const bytes = memory.read(address, 8);
  return bytes.length < 8 ? 0 : getU64(new DataView(bytes.buffer, bytes.byteOffset), 0);
}

/** Note types that the kernel writes into core dumps (`linux/elf.h`). */
const NoteType = {
  Prstatus: 1,
  Prpsinfo: 3,
  Auxv: 6,
  Siginfo: 0x53494749,
  File: 0x46494c45,
  ArmPacMask: 0x406,
} as const;

const SIGNAL = 12;
const THREAD_ID = 32;
const REGISTERS = 112;

/** DWARF numbers in the order of `struct user_regs_struct`; −1 for registers that unwinding does not use. */
const X86_64_ORDER = [15, 14, 13, 12, 6, 3, 11, 10, 9, 8, 0, 2, 1, 4, 5, -1, 16, -1, -1, 7];
/** DWARF order: x0 to x30, sp, pc. */
const AARCH64_ORDER = Array.from({ length: 33 }, (_, number) => number);

interface ThreadStatus {
  readonly lwp: number;
  readonly signal: number;
  readonly registers: RegisterWords;
}

function readThreadStatus(note: ElfNote, architecture: ProcessArchitecture): ThreadStatus {
  const view = viewOf(note.content);
  const order = architecture === "x86_64" ? X86_64_ORDER : AARCH64_ORDER;
  const needed = REGISTERS + order.length * 8;
  if (view.byteLength < needed) {
    const detail = `${needed} bytes are needed, ${view.byteLength} are there`;
    throw new FormatError("truncated", note.offset, "NT_PRSTATUS note", detail);
  }
  const registers = new Uint32Array(2 * REGISTER_COUNT[architecture]);
  order.forEach((register, index) => {
    if (register < 0) return;
    registers[2 * register] = view.getUint32(REGISTERS + index * 8, true);
    registers[2 * register + 1] = view.getUint32(REGISTERS + index * 8 + 4, true);
  });
  return { lwp: view.getInt32(THREAD_ID, true), signal: view.getUint16(SIGNAL, true), registers };
}

/** Reads NT_PRPSINFO (`struct elf_prpsinfo`): process id, name and the start of the command line. */
function readProcessInfo({ content }: ElfNote): { pid: number; name: string; command: string } | undefined {
  if (content.length < 136) return undefined;
  return {
    pid: viewOf(content).getInt32(24, true),
    name: readString(content.subarray(40, 56), 0),
    command: readString(content.subarray(56, 136), 0).trim(),
  };
}

function readAuxiliaryVector({ content }: ElfNote): Map<number, number> {
  const view = viewOf(content);
  const values = new Map<number, number>();
  for (let at = 0; at + 16 <= content.length; at += 16) {
    const type = getU64(view, at);
    if (type === 0) break;
    values.set(type, getU64(view, at + 8));
  }
  return values;
}

/** Reads NT_FILE: the mapped parts of files. Entries that do not fit into the note are left out. */
function readMappedFiles({ content }: ElfNote): MappedFile[] {
  if (content.length < 16) return [];
  const view = viewOf(content);
  const pageSize = getU64(view, 8);
  const count = Math.min(getU64(view, 0), Math.floor((content.length - 16) / 24));
  const files: MappedFile[] = [];
  let nameAt = 16 + count * 24;
  for (let index = 0; index < count; index++) {
    const at = 16 + index * 24;
    const path = readString(content, nameAt);
    const end = content.indexOf(0, nameAt);
    if (end < 0) break;
    nameAt = end + 1;
    const [start, stop, page] = [getU64(view, at), getU64(view, at + 8), getU64(view, at + 16)];
    if (stop > start) files.push({ start, end: stop, fileOffset: page * pageSize, path });
  }
  return files.sort((a, b) => a.start - b.start);
}

function readCodeAddressMask({ content }: ElfNote): [number, number] | undefined {
  if (content.length < 16) return undefined;
  const view = viewOf(content);
  return [view.getUint32(8, true), view.getUint32(12, true)];
}
