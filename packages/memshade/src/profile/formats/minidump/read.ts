import type { ByteSource } from "../../../ground/bytes/byte-source.ts";
import { FormatError } from "../../../ground/bytes/errors.ts";
import {
  type MappedFile,
  type ProcessArchitecture,
  type ProcessImage,
  type ProcessThread,
  REGISTER_COUNT,
  type RegisterWords,
} from "../../model/process-image.ts";
import { type Exception, exceptionOf, isBigEndianMinidump, OTHER_PROCESSORS } from "./exceptions.ts";
import {
  AMD64_CONTEXT,
  ARM64_CONTEXT,
  CV_ELF,
  CV_PDB70,
  MODULE_BYTES,
  PROCESSOR_AMD64,
  PROCESSOR_ARM64,
  PROCESSOR_ARM64_BREAKPAD,
  SIGNATURE,
  StreamType,
  THREAD_BYTES,
} from "./layout.ts";
import { MinidumpMemory } from "./memory.ts";
import { type Location, locationAt, MinidumpFile, u64At } from "./streams.ts";

/** Whether a file starts like a minidump. */
export function isMinidump(source: ByteSource): boolean {
  if (isBigEndianMinidump(source)) return true;
  const start = source.read(0, 4);
  return start.length === 4 && new DataView(start.buffer, start.byteOffset).getUint32(0, true) === SIGNATURE;
}

/**
 * Opens a minidump of an x86-64 or AArch64 process as Breakpad and Crashpad write them. Lists are read at once, memory
 * when it is asked for; the source must stay open. The thread that crashed comes first, as it was when it crashed.
 *
 * @throws FormatError if it is not such a dump, or has no thread with registers
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

/** Bytes of the SystemInfo stream up to the platform id, and with it. */
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

/** Modules by address. A file that is listed once per mapping becomes one, which starts at the lowest of them. */
function modulesOf(file: MinidumpFile): MappedFile[] {
  const modules = [...file.list(StreamType.ModuleList, MODULE_BYTES)].map((entry): MappedFile => {
    const start = u64At(entry, 0);
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
    names.set(entry.getUint32(0, true), file.string(u64At(entry, 4)));
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
 * The build id in a module's CodeView record, in hexadecimal: whole in Breakpad's records for ELF; its first 16 bytes in
 * those that hold it as a GUID, whose first three fields are stored with their bytes swapped.
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
