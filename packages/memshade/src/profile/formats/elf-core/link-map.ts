import type { MappedFile } from "../../model/process-image.ts";
import type { CoreMemory } from "./memory.ts";
import { textAt } from "./text.ts";

const AT_PHDR = 3;
const AT_PHENT = 4;
const AT_PHNUM = 5;

const PT_LOAD = 1;
const PT_DYNAMIC = 2;
const PT_PHDR = 6;
const DT_DEBUG = 21;

/** More objects than any program loads; the list may be damaged into a circle. */
const MOST_OBJECTS = 10_000;

interface ProgramHeader {
  readonly type: number;
  readonly fileOffset: number;
  readonly address: number;
  readonly memorySize: number;
}

/**
 * The executable, and the libraries that the dynamic linker lists (`r_debug`, `link_map`), for dumps that do not name
 * the files in memory. Ranges of libraries are known where their headers are in the dump.
 */
export function loadedObjects(
  memory: CoreMemory,
  auxiliary: ReadonlyMap<number, number>,
  executable: string,
): MappedFile[] {
  const address = auxiliary.get(AT_PHDR);
  const headers = address === undefined ? [] : readHeaders(memory, address, auxiliary);
  if (address === undefined) return [];
  if (headers.length === 0) {
    // Not dumped: all that is known is that the headers stand in the first page of the executable.
    const start = pageStart(address);
    const end = memory.endOfRange(start);
    return end > start ? [{ start, end, fileOffset: 0, path: executable }] : [];
  }
  const own = headers.find(({ type }) => type === PT_PHDR);
  const first = headers.find(({ type }) => type === PT_LOAD);
  // Static executables often have no PT_PHDR: the headers stand behind the file header, at the start of the first load.
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
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: Math.floor(bytes.length / entrySize) }, (_, index) => {
    const at = index * entrySize;
    return {
      type: view.getUint32(at, true),
      fileOffset: u64(view, at + 8),
      address: u64(view, at + 16),
      memorySize: u64(view, at + 40),
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
  // struct r_debug: version, then behind padding the first link_map.
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
  const view = new DataView(start.buffer, start.byteOffset, start.byteLength);
  if (start.length < 64 || view.getUint32(0, true) !== 0x464c457f)
    return [{ start: base, end: base + PAGE, fileOffset: 0, path }];
  const sizes = new Map([
    [AT_PHENT, view.getUint16(54, true)],
    [AT_PHNUM, view.getUint16(56, true)],
  ]);
  return rangesOf(readHeaders(memory, base + u64(view, 32), sizes), base, path);
}

function dynamicEntry(memory: CoreMemory, address: number, size: number, tag: number): number | undefined {
  const bytes = memory.read(address, Math.min(size, 2 ** 16));
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at + 16 <= bytes.length; at += 16) if (u64(view, at) === tag) return u64(view, at + 8);
  return undefined;
}

const PAGE = 4096;

function pageStart(address: number): number {
  return address - (address % PAGE);
}

function word(memory: CoreMemory, address: number): number {
  const bytes = memory.read(address, 8);
  return bytes.length < 8 ? 0 : u64(new DataView(bytes.buffer, bytes.byteOffset), 0);
}

function u64(view: DataView, offset: number): number {
  return view.getUint32(offset + 4, true) * 2 ** 32 + view.getUint32(offset, true);
}
