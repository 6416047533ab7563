import { openObject, PT_NOTE, readNotes } from "../../../code/objects/index.ts";
import type { ByteSource } from "../../../ground/bytes/byte-source.ts";
import { FormatError } from "../../../ground/bytes/errors.ts";
import type {
  MappedFile,
  ProcessArchitecture,
  ProcessImage,
  ProcessThread,
} from "../../model/process-image.ts";
import { loadedObjects } from "./link-map.ts";
import { CoreMemory } from "./memory.ts";
import {
  NoteType,
  readAuxiliaryVector,
  readCodeAddressMask,
  readMappedFiles,
  readProcessInfo,
  readThreadStatus,
} from "./notes.ts";
import { textAt } from "./text.ts";

const AT_SYSINFO_EHDR = 33;
const AT_EXECFN = 31;
const CLASS_32 = 1;
const BIG_ENDIAN = 2;

/** Whether a file starts like an ELF core dump. */
export function isElfCore(source: ByteSource): boolean {
  const start = source.read(0, 18);
  const type = start[5] === BIG_ENDIAN ? start[17] : start[16];
  return start.length === 18 && start[0] === 0x7f && start[1] === 0x45 && start[2] === 0x4c && type === 4;
}

/**
 * Opens a core dump of a 64-bit process (x86-64, AArch64). Notes are read at once, memory when it is asked for; the
 * source must stay open. A dump that was cut off is read as far as it goes.
 *
 * @throws FormatError if it is not such a dump, or has no thread
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
  const lastByte = programHeaders.reduce((end, one) => Math.max(end, one.fileOffset + one.fileSize), 0);
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

/** The files in the process's memory, with the build ids that the dump itself has, and the kernel's library. */
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

/** Adds build ids where the first page of a file, with its headers and notes, is in the dump. */
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
