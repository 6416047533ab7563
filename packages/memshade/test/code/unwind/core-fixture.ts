import { existsSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { gunzipSync } from "node:zlib";
import { openObject } from "../../../src/code/objects/index.ts";
import type { ObjectFile } from "../../../src/code/objects/types.ts";
import {
  type ReadMemory,
  Unwinder,
  type UnwindOptions,
  UnwindTable,
} from "../../../src/code/unwind/index.ts";
import type { UnwindTableOptions } from "../../../src/code/unwind/tables/unwind-table.ts";

const PT_LOAD = 1;
const PT_NOTE = 4;
const NT_PRSTATUS = 1;
const NT_FILE = 0x46494c45;
const REGISTERS_AT = 112;
const PAGE = 4096;
// biome-ignore format: one line per eight registers
const X86_64_ORDER = [
  "r15", "r14", "r13", "r12", "rbp", "rbx", "r11", "r10",
  "r9", "r8", "rax", "rcx", "rdx", "rsi", "rdi", "", "rip", "", "", "rsp",
];
const AARCH64_ORDER = [...Array.from({ length: 31 }, (_, number) => `x${number}`), "sp", "pc"];

interface CoreThread {
  lwp: number;
  registers: Record<string, bigint>;
}

interface MappedFile {
  start: number;
  end: number;
  fileOffset: number;
  name: string;
}

/** A core dump, read in the simplest way, as far as the tests need it. */
export interface CoreFixture {
  unwinder: Unwinder;
  threads: CoreThread[];
  readMemory: ReadMemory;
  missing: string[];
}

/** Opens a core of the fixtures with the files next to it, or with the machine's libraries. */
export function openCoreFixture(
  path: string,
  options: UnwindOptions,
  tableOptions: UnwindTableOptions = {},
): CoreFixture {
  const bytes = new Uint8Array(gunzipSync(readFileSync(path)));
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const word = (at: number) => Number(view.getBigUint64(at, true));
  const isX86 = view.getUint16(18, true) === 62;
  const loads: { offset: number; address: number; fileSize: number }[] = [];
  const threads: CoreThread[] = [];
  const files: MappedFile[] = [];
  for (let i = 0, at = word(32); i < view.getUint16(56, true); i++, at += 56) {
    const segment = { offset: word(at + 8), address: word(at + 16), fileSize: word(at + 32) };
    if (view.getUint32(at, true) === PT_LOAD) loads.push(segment);
    if (view.getUint32(at, true) === PT_NOTE) readNotes(segment.offset, segment.offset + segment.fileSize);
  }

  function readNotes(start: number, end: number): void {
    for (let at = start; at + 12 <= end; ) {
      const nameBytes = (view.getUint32(at, true) + 3) & ~3;
      const content = at + 12 + nameBytes;
      const type = view.getUint32(at + 8, true);
      if (type === NT_PRSTATUS) threads.push(readThread(content));
      if (type === NT_FILE) readFiles(content);
      at = content + ((view.getUint32(at + 4, true) + 3) & ~3);
    }
  }

  function readThread(at: number): CoreThread {
    const order = isX86 ? X86_64_ORDER : AARCH64_ORDER;
    const registers: Record<string, bigint> = {};
    for (const [i, name] of order.entries())
      if (name !== "") registers[name] = view.getBigUint64(at + REGISTERS_AT + 8 * i, true);
    return { lwp: view.getInt32(at + 32, true), registers };
  }

  function readFiles(at: number): void {
    const count = word(at);
    let nameAt = at + 16 + 24 * count;
    for (let i = 0, entry = at + 16; i < count; i++, entry += 24) {
      const nameEnd = bytes.indexOf(0, nameAt);
      const name = new TextDecoder().decode(bytes.subarray(nameAt, nameEnd));
      files.push({
        start: word(entry),
        end: word(entry + 8),
        fileOffset: word(entry + 16) * word(at + 8),
        name,
      });
      nameAt = nameEnd + 1;
    }
  }

  const folder = join(path, "..");
  const builds: Record<string, { buildId?: string }> = JSON.parse(
    readFileSync(join(folder, "files.json"), "utf8"),
  );
  const opened = new Map<string, { object: ObjectFile; table: UnwindTable } | undefined>();
  const open = (name: string) => {
    if (!opened.has(name)) {
      const places = [folder, "/lib/x86_64-linux-gnu", "/lib64"].map((place) => join(place, basename(name)));
      const found = places.find((place) => existsSync(place));
      const candidate = found === undefined ? undefined : openObject(readFileSync(found));
      // Another build of a system library would give wrong frames.
      const wanted = builds[basename(name)]?.buildId;
      const object = wanted === undefined || candidate?.buildId === wanted ? candidate : undefined;
      opened.set(name, object && { object, table: UnwindTable.fromObject(object, tableOptions) });
    }
    return opened.get(name);
  };
  // An emulator's core lacks the list of mappings; its program is not relocated.
  if (files.length === 0)
    for (const { address, memorySize, fileOffset } of open("prog")?.object.segments ?? [])
      files.push({ start: address, end: address + memorySize, fileOffset, name: "prog" });
  const unwinder = new Unwinder(isX86 ? "x86_64" : "aarch64", options);
  const missing = new Set<string>();
  for (const { start, end, fileOffset, name } of files) {
    const file = open(name);
    if (file === undefined) {
      missing.add(name);
      continue;
    }
    const segment = file.object.segments.find((load) => pageOf(load.fileOffset) === pageOf(fileOffset));
    if (segment === undefined) continue;
    unwinder.modules.add({
      start,
      end,
      bias: pageOf(start) - pageOf(segment.address),
      table: file.table,
      name,
      readCode: (address, length) => file.object.bytesAt(address, length),
    });
  }
  const readMemory: ReadMemory = (address, length) => {
    const load = loads.find((each) => address >= each.address && address < each.address + each.fileSize);
    if (load === undefined) return undefined;
    const at = load.offset + address - load.address;
    return bytes.subarray(at, Math.min(at + length, load.offset + load.fileSize));
  };
  return { unwinder, threads, readMemory, missing: [...missing] };
}

function pageOf(address: number): number {
  return address - (address % PAGE);
}
