import type { ByteSource } from "../../../ground/bytes/byte-source.ts";
import { partitionPoint } from "../../../ground/bytes/columns.ts";
import { FormatError } from "../../../ground/bytes/errors.ts";
import { getU64, viewOf } from "../../../ground/bytes/numbers.ts";
import {
  type MappedFile,
  type ProcessArchitecture,
  type ProcessImage,
  type ProcessThread,
  REGISTER_COUNT,
  type RegisterWords,
} from "../../model/process-image.ts";
import {
  AMD64_CONTEXT,
  ARM64_CONTEXT,
  CV_ELF,
  CV_PDB70,
  DIRECTORY_ENTRY_BYTES,
  HEADER_BYTES,
  MODULE_BYTES,
  PROCESSOR_AMD64,
  PROCESSOR_ARM64,
  PROCESSOR_ARM64_BREAKPAD,
  SIGNATURE,
  StreamType,
  THREAD_BYTES,
} from "./layout.ts";

export function isMinidump(source: ByteSource): boolean {
  if (isBigEndianMinidump(source)) return true;
  const start = source.read(0, 4);
  return start.length === 4 && new DataView(start.buffer, start.byteOffset).getUint32(0, true) === SIGNATURE;
}

/**
 * Opens a minidump of an x86-64 or AArch64 process as written by Breakpad and Crashpad. Lists are read immediately,
 * memory on demand, so the source must stay open. The crashed thread comes first, with its state at the crash.
 *
 * @throws FormatError if the file is no such dump, or has no thread with registers
 */
export function readMinidump(source: ByteSource): ProcessImage {
  if (isBigEndianMinidump(source))
    throw new FormatError("unsupported", 0, "minidump", "dumps of big-endian machines are not supported");
  const file = new MinidumpFile(source);
  const architecture = processorOf(file);
  const crash = crashOf(file);
  const names = threadNames(file);
  const gaps: string[] = [];
  const threads: ProcessThread[] = [];
  for (const entry of file.list(StreamType.ThreadList, THREAD_BYTES)) {
    const lwp = entry.getUint32(0, true);
    const crashed = crash?.thread === lwp;
    // The crashed thread's own context is that of the handler which wrote the dump.
    const registers =
      (crashed ? readContext(file, crash.context, architecture) : undefined) ??
      readContext(file, locationAt(entry, 40), architecture);
    if (registers === undefined) {
      gaps.push(`Thread ${lwp} has no registers.`);
      continue;
    }
    const thread = { lwp, registers, name: names.get(lwp) };
    if (crashed) threads.unshift(thread);
    else threads.push(thread);
  }
  if (threads.length === 0)
    throw new FormatError("malformed", 0, "minidump", "there is no thread with registers in it");
  const memory = new MinidumpMemory(file);
  return {
    architecture,
    pid: processId(file),
    command: commandLine(file),
    ...crash?.exception,
    threads,
    files: modulesOf(file),
    readMemory: (address, length) => memory.read(address, length),
    gaps,
  };
}

function processorOf(file: MinidumpFile): ProcessArchitecture {
  const info = file.stream(StreamType.SystemInfo);
  const processor = info.byteLength < 2 ? undefined : info.getUint16(0, true);
  if (processor === PROCESSOR_AMD64) return "x86_64";
  if (processor === PROCESSOR_ARM64 || processor === PROCESSOR_ARM64_BREAKPAD) return "aarch64";
  const detail =
    processor === undefined
      ? "it does not say for which processor it is"
      : `dumps of ${OTHER_PROCESSORS[processor] ?? `processor ${processor}`} are not supported`;
  throw new FormatError("unsupported", 0, "minidump", detail);
}

const PLATFORM_AT = 20;

function crashOf(
  file: MinidumpFile,
): { thread: number; exception: Exception; context: Location } | undefined {
  const stream = file.stream(StreamType.Exception);
  if (stream.byteLength < 168) return undefined;
  return {
    thread: stream.getUint32(0, true),
    exception: exceptionOf(platformOf(file), stream.getUint32(8, true), stream.getUint32(12, true)),
    context: locationAt(stream, 160),
  };
}

function platformOf(file: MinidumpFile): number | undefined {
  const info = file.stream(StreamType.SystemInfo);
  return info.byteLength < PLATFORM_AT + 4 ? undefined : info.getUint32(PLATFORM_AT, true);
}

function readContext(
  file: MinidumpFile,
  location: Location,
  architecture: ProcessArchitecture,
): RegisterWords | undefined {
  const offsets = architecture === "x86_64" ? AMD64_CONTEXT : ARM64_CONTEXT;
  const context = file.view(location);
  if (context.byteLength < Math.max(...offsets) + 8) return undefined;
  const registers = new Uint32Array(2 * REGISTER_COUNT[architecture]);
  offsets.forEach((offset, register) => {
    registers[2 * register] = context.getUint32(offset, true);
    registers[2 * register + 1] = context.getUint32(offset + 4, true);
  });
  return registers;
}

/**
 * Returns the modules by address. A file with an entry per mapping becomes one module, which starts at the lowest
 * mapping.
 */
function modulesOf(file: MinidumpFile): MappedFile[] {
  const modules = [...file.list(StreamType.ModuleList, MODULE_BYTES)].map((entry): MappedFile => {
    const start = getU64(entry, 0);
    return {
      start,
      end: start + entry.getUint32(8, true),
      fileOffset: 0,
      path: file.string(entry.getUint32(20, true)),
      buildId: buildIdOfCodeView(file.bytes(locationAt(entry, 76))),
    };
  });
  const merged: MappedFile[] = [];
  for (const next of modules.filter(({ start, end }) => end > start).sort((a, b) => a.start - b.start)) {
    const last = merged.at(-1);
    if (last !== undefined && last.path === next.path && last.buildId === next.buildId)
      merged[merged.length - 1] = { ...last, end: Math.max(last.end, next.end) };
    else merged.push(next);
  }
  return merged;
}

function threadNames(file: MinidumpFile): Map<number, string> {
  const names = new Map<number, string>();
  for (const entry of file.list(StreamType.ThreadNames, 12))
    names.set(entry.getUint32(0, true), file.string(getU64(entry, 4)));
  return names;
}

function processId(file: MinidumpFile): number | undefined {
  const status = text(file.stream(StreamType.LinuxProcStatus));
  const pid = /^(?:Tgid|Pid):\s*(\d+)/m.exec(status)?.[1];
  return pid === undefined ? undefined : Number(pid);
}

function commandLine(file: MinidumpFile): string | undefined {
  const line = text(file.stream(StreamType.LinuxCmdLine)).replace(/\0+$/, "").replaceAll("\0", " ");
  return line === "" ? undefined : line;
}

function text(view: DataView): string {
  return new TextDecoder().decode(new Uint8Array(view.buffer, view.byteOffset, view.byteLength));
}

/**
 * Returns the build id of a module's CodeView record in hexadecimal. Breakpad's ELF records hold the whole id. Records
 * with a GUID hold its first 16 bytes, and the first three fields of the GUID are byte-swapped.
 */
export function buildIdOfCodeView(record: Uint8Array): string | undefined {
  if (record.length < 5) return undefined;
  const signature = new DataView(record.buffer, record.byteOffset).getUint32(0, true);
  if (signature === CV_ELF) return toHex(record.subarray(4));
  if (signature !== CV_PDB70 || record.length < 20) return undefined;
  const guid = record.subarray(4, 20);
  const order = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
  return toHex(order.map((index) => guid[index]!));
}

function toHex(bytes: ArrayLike<number>): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Platform ids of the SystemInfo stream, for systems with exception codes of their own. */
const WINDOWS: readonly number[] = [1, 2, 3];
const APPLE: readonly number[] = [0x8101, 0x8102];

/** Mach's exceptions (`mach/exception_types.h`). */
const MACH: Readonly<Record<number, string>> = {
  1: "EXC_BAD_ACCESS",
  2: "EXC_BAD_INSTRUCTION",
  3: "EXC_ARITHMETIC",
  4: "EXC_EMULATION",
  5: "EXC_SOFTWARE",
  6: "EXC_BREAKPOINT",
  7: "EXC_SYSCALL",
  8: "EXC_MACH_SYSCALL",
  9: "EXC_RPC_ALERT",
  10: "EXC_CRASH",
  11: "EXC_RESOURCE",
  12: "EXC_GUARD",
  13: "EXC_CORPSE_NOTIFY",
};
/** Causes of a bad access (`mach/kern_return.h`). */
const BAD_ACCESS = 1;
const ACCESS_FAULTS: Readonly<Record<number, string>> = {
  1: "KERN_INVALID_ADDRESS",
  2: "KERN_PROTECTION_FAILURE",
  13: "EXC_I386_GPFLT",
};

/** Windows' exception codes (`ntstatus.h`, `winnt.h`). */
const STATUS: Readonly<Record<number, string>> = {
  1073741845: "STATUS_FATAL_APP_EXIT",
  2147483649: "STATUS_GUARD_PAGE_VIOLATION",
  2147483650: "STATUS_DATATYPE_MISALIGNMENT",
  2147483651: "STATUS_BREAKPOINT",
  2147483652: "STATUS_SINGLE_STEP",
  3221225477: "STATUS_ACCESS_VIOLATION",
  3221225478: "STATUS_IN_PAGE_ERROR",
  3221225480: "STATUS_INVALID_HANDLE",
  3221225485: "STATUS_INVALID_PARAMETER",
  3221225495: "STATUS_NO_MEMORY",
  3221225501: "STATUS_ILLEGAL_INSTRUCTION",
  3221225509: "STATUS_NONCONTINUABLE_EXCEPTION",
  3221225612: "STATUS_ARRAY_BOUNDS_EXCEEDED",
  3221225614: "STATUS_FLOAT_DIVIDE_BY_ZERO",
  3221225620: "STATUS_INTEGER_DIVIDE_BY_ZERO",
  3221225621: "STATUS_INTEGER_OVERFLOW",
  3221225622: "STATUS_PRIVILEGED_INSTRUCTION",
  3221225725: "STATUS_STACK_OVERFLOW",
  3221226356: "STATUS_HEAP_CORRUPTION",
  3221226505: "STATUS_STACK_BUFFER_OVERRUN",
  3221226528: "STATUS_ASSERTION_FAILURE",
  3765269347: "an exception of C++",
};

/** Breakpad's and Crashpad's codes for dumps that the program requested. */
const ASKED_FOR: readonly number[] = [0xffffffff, 0x43507378, 0x0517a7ed];
const SIGNALS = 64;

/** Cause of a process's end: a Linux signal, or another system's exception name. */
interface Exception {
  readonly signal?: number;
  readonly exception?: string;
}

/** @param platform the platform id; undefined if the dump has none, which is treated as Linux */
function exceptionOf(platform: number | undefined, code: number, flags: number): Exception {
  if (ASKED_FOR.includes(code)) return { exception: "none: the dump was asked for" };
  const hex = `0x${code.toString(16).padStart(8, "0")}`;
  if (platform !== undefined && APPLE.includes(platform)) {
    const fault = code === BAD_ACCESS ? ACCESS_FAULTS[flags] : undefined;
    return { exception: `${MACH[code] ?? hex}${fault === undefined ? "" : ` (${fault})`}` };
  }
  if (platform !== undefined && WINDOWS.includes(platform))
    return { exception: STATUS[code] === undefined ? hex : `${STATUS[code]} (${hex})` };
  return code <= SIGNALS ? { signal: code } : { exception: hex };
}

/** Unsupported processors by their number in the SystemInfo stream. */
const OTHER_PROCESSORS: Readonly<Record<number, string>> = {
  0: "32-bit x86",
  1: "MIPS",
  3: "PowerPC",
  5: "32-bit ARM",
  6: "Itanium",
  10: "32-bit x86",
  32769: "SPARC",
  32770: "64-bit PowerPC",
  32772: "64-bit MIPS",
  32773: "32-bit RISC-V",
  32774: "64-bit RISC-V",
};

function isBigEndianMinidump(source: ByteSource): boolean {
  return String.fromCharCode(...source.read(0, 4)) === "PMDM";
}

interface Location {
  readonly size: number;
  readonly offset: number;
}

class MinidumpFile {
  readonly source: ByteSource;
  readonly #streams = new Map<number, Location>();

  constructor(source: ByteSource) {
    this.source = source;
    const header = this.view({ offset: 0, size: HEADER_BYTES });
    if (header.byteLength < HEADER_BYTES || header.getUint32(0, true) !== SIGNATURE)
      throw new FormatError("bad-magic", 0, "minidump header", "the file is not a minidump");
    const count = header.getUint32(8, true);
    const directory = { offset: header.getUint32(12, true), size: count * DIRECTORY_ENTRY_BYTES };
    const entries = this.view(directory);
    for (let at = 0; at + DIRECTORY_ENTRY_BYTES <= entries.byteLength; at += DIRECTORY_ENTRY_BYTES) {
      const type = entries.getUint32(at, true);
      if (!this.#streams.has(type)) this.#streams.set(type, locationAt(entries, at + 4));
    }
  }

  /** Returns the content of a stream, cut at the end of the file; empty if there is none. */
  stream(type: number): DataView {
    return this.view(this.#streams.get(type) ?? { offset: 0, size: 0 });
  }

  bytes({ offset, size }: Location): Uint8Array {
    return offset >= this.source.size ? new Uint8Array(0) : this.source.read(offset, size);
  }

  view(location: Location): DataView {
    const bytes = this.bytes(location);
    return viewOf(bytes);
  }

  /**
   * Yields views of the entries of a list. A list is a 32-bit count, in some files four bytes of padding, then entries
   * of a fixed size.
   */
  *list(type: number, entryBytes: number): Generator<DataView> {
    const stream = this.stream(type);
    if (stream.byteLength < 4) return;
    const count = stream.getUint32(0, true);
    const start = stream.byteLength === 8 + count * entryBytes ? 8 : 4;
    for (let at = start, index = 0; index < count && at + entryBytes <= stream.byteLength; index++) {
      yield new DataView(stream.buffer, stream.byteOffset + at, entryBytes);
      at += entryBytes;
    }
  }

  /** Reads a UTF-16 string that follows its length in bytes. */
  string(offset: number): string {
    const header = this.view({ offset, size: 4 });
    if (header.byteLength < 4) return "";
    return new TextDecoder("utf-16le").decode(
      this.bytes({ offset: offset + 4, size: header.getUint32(0, true) }),
    );
  }
}

function locationAt(view: DataView, at: number): Location {
  return { size: view.getUint32(at, true), offset: view.getUint32(at + 4, true) };
}

interface MemoryPiece extends Location {
  readonly start: number;
}

/** Memory in a minidump: the stacks of threads and the memory lists. */
class MinidumpMemory {
  readonly #file: MinidumpFile;
  readonly #pieces: readonly MemoryPiece[];

  constructor(file: MinidumpFile) {
    this.#file = file;
    this.#pieces = withoutOverlaps([...stacks(file), ...memoryList(file), ...memory64List(file)]);
  }

  /** Returns the bytes at an address, up to the end of the piece that holds it. */
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
    yield { start: getU64(entry, 24), ...locationAt(entry, 32) };
}

function* memoryList(file: MinidumpFile): Generator<MemoryPiece> {
  for (const entry of file.list(StreamType.MemoryList, 16))
    yield { start: getU64(entry, 0), ...locationAt(entry, 8) };
}

/** Yields the ranges with 64-bit sizes, whose contents are consecutive in the file. */
function* memory64List(file: MinidumpFile): Generator<MemoryPiece> {
  const stream = file.stream(StreamType.Memory64List);
  if (stream.byteLength < 16) return;
  let offset = getU64(stream, 8);
  const count = Math.min(getU64(stream, 0), Math.floor((stream.byteLength - 16) / 16));
  for (let index = 0; index < count; index++) {
    const at = 16 + index * 16;
    const size = getU64(stream, at + 8);
    yield { start: getU64(stream, at), size, offset };
    offset += size;
  }
}

/**
 * Sorts pieces by address and removes overlaps, which hold the same memory twice. Of two pieces with the same start the
 * longer one stays.
 */
function withoutOverlaps(pieces: readonly MemoryPiece[]): MemoryPiece[] {
  const sorted = pieces.filter(({ size }) => size > 0).sort((a, b) => a.start - b.start || b.size - a.size);
  const disjoint: MemoryPiece[] = [];
  let end = Number.NEGATIVE_INFINITY;
  for (const { start, size, offset } of sorted) {
    if (start + size <= end) continue;
    const into = Math.max(0, end - start);
    disjoint.push({ start: start + into, size: size - into, offset: offset + into });
    end = start + size;
  }
  return disjoint;
}
