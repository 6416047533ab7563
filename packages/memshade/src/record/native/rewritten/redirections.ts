import { statSync } from "node:fs";
import { PF_X } from "../../../code/objects/elf/write/image.ts";
import { openObject } from "../../../code/objects/index.ts";
import { Assembler, R8, R10, RAX, RCX, RDI, RDX, RSI, RSP } from "../../../code/x64/index.ts";
import { type Label, place, relative } from "../../../code/x64/operands.ts";
import { systemCall } from "../start/system-calls.ts";
import type { Mount } from "./enter-namespace.ts";

const SYSTEM = { close: 3, status: 5, openAt: 257 } as const;
const AT_FDCWD = -100;
const FIRST_ERROR = -0x1000;
const [MOV_EAX, CALL, CALL_BYTES] = [0xb8, 0xe8, 5];
/** `syscall` and a following comparison of the result with errors, in 64 or 32 bits: room for a call. */
const [CHECKED_IN_64, CHECKED_IN_32] = [
  [0x0f, 0x05, 0x48, 0x3d, 0x00, 0xf0, 0xff, 0xff],
  [0x0f, 0x05, 0x3d, 0x00, 0xf0, 0xff, 0xff],
];
/**
 * System calls by which a dynamic linker opens files, and reads the link to the program's file: number, and
 * check of the result.
 */
const SITES = {
  open: { number: SYSTEM.openAt, checked: CHECKED_IN_64, nop: [0x0f, 0x1f, 0x00] },
  readLink: { number: 89, checked: CHECKED_IN_32, nop: [0x66, 0x90] },
} as const;
type SiteKind = keyof typeof SITES;
/** Most bytes between the number and the system call, for instructions that load arguments. */
const MOST_BETWEEN = 32;

/**
 * Offsets in the stack frame, which begins below the red zone of a leaf function: saved registers, result,
 * `struct stat`.
 */
const [RED_ZONE, SAVED, RESULT, STATUS, FRAME_BYTES] = [128, 0, 48, 64, 64 + 144];
const [ST_DEV, ST_INO] = [0, 8];
const KEPT = [RDI, RSI, RDX, R10, R8];
/**
 * Fields of the table of files: device, inode, distance from the entry to the path. An entry with inode 0
 * ends the table.
 */
const [DEVICE, INODE, PATH, ENTRY_BYTES] = [0, 8, 16, 24];
/** Fields of the link: bytes of the original path and of the replacing path; both paths. */
const [FROM_BYTES, TO_BYTES, FROM, TO, LINK_BYTES] = [0, 8, 16, 16 + 4096, 16 + 2 * 4096];
const [E_PHOFF, E_PHNUM, PROGRAM_HEADER_BYTES] = [32, 56, 56];
const PT_INTERP = 3;
const [P_OFFSET, P_FILESZ] = [8, 32];

export const LEAST_TABLE_BYTES = 0x4000;

/**
 * Returns the system calls by which a dynamic linker opens files and reads links: offsets of the call with
 * its check. Empty if the linker has other code.
 */
export function redirectedSites(file: Uint8Array): { at: number; kind: SiteKind }[] {
  const isAt = (bytes: readonly number[], at: number): boolean =>
    bytes.every((byte, i) => file[at + i] === byte);
  return Object.entries(SITES).flatMap(([kind, { number, checked }]) => {
    const sites: { at: number; kind: SiteKind }[] = [];
    const move = [MOV_EAX, number & 0xff, number >> 8, 0, 0];
    for (let at = file.indexOf(MOV_EAX); at >= 0; at = file.indexOf(MOV_EAX, at + 1)) {
      if (!isAt(move, at)) continue;
      const from = at + move.length;
      const between = Array.from({ length: MOST_BETWEEN + 1 }, (_, i) => i);
      const distance = between.find((bytes) => isAt(checked, from + bytes));
      if (distance !== undefined) sites.push({ at: from + distance, kind: kind as SiteKind });
    }
    return sites;
  });
}

/** Code of `redirections`, and offsets in it. */
export interface Redirections {
  readonly code: Uint8Array;
  readonly open: number;
  readonly readLink: number;
  readonly table: number;
  readonly link: number;
}

/**
 * Assembles replacements of a dynamic linker's system calls and their checks. A file in the table is replaced
 * when it is opened. Files are compared by device and inode, since a dynamic linker opens them by links and
 * different paths. A link to one path is read as another path. All registers except rax, rcx and r11 are
 * preserved, as by a system call.
 * @param tableBytes room for the table of files; the table and the link are empty
 */
export function redirections(tableBytes: number): Redirections {
  const asm = new Assembler();
  const table = asm.literal(new Uint8Array(tableBytes));
  const link = asm.literal(new Uint8Array(LINK_BYTES));
  const open = asm.here();
  redirectOpen(asm, table);
  const readLink = asm.here();
  redirectLink(asm, link);
  const { bytes, offsetOf } = asm.finish();
  const offsets = {
    open: offsetOf(open),
    readLink: offsetOf(readLink),
    table: offsetOf(table),
    link: offsetOf(link),
  };
  return { code: bytes, ...offsets };
}

/**
 * Returns the bytes that replace a system call.
 * @param distance from the call to its replacement
 */
export function callOfRedirection(kind: SiteKind, distance: number): Uint8Array {
  const bytes = Uint8Array.of(CALL, 0, 0, 0, 0, ...SITES[kind].nop);
  new DataView(bytes.buffer).setInt32(1, distance - CALL_BYTES, true);
  return bytes;
}

function redirectOpen(asm: Assembler, table: Label): void {
  const [next, entries] = [asm.label(), asm.label()];
  withSystemCall(asm, 8, (restore) => {
    asm.put("mov", 4, RDI, RAX);
    asm.put("lea", 8, RSI, place(RSP, STATUS));
    systemCall(asm, SYSTEM.status);
    asm.put("test", 4, RAX, RAX);
    asm.jump(restore, "ne");
    asm.put("lea", 8, R8, relative(table));
    asm.bind(entries);
    asm.put("mov", 8, RAX, place(R8, INODE));
    asm.put("test", 8, RAX, RAX);
    asm.jump(restore, "e");
    asm.put("cmp", 8, RAX, place(RSP, STATUS + ST_INO));
    asm.jump(next, "ne");
    asm.put("mov", 8, RAX, place(R8, DEVICE));
    asm.put("cmp", 8, RAX, place(RSP, STATUS + ST_DEV));
    asm.jump(next, "ne");
    asm.put("mov", 8, RSI, place(R8, PATH));
    asm.put("add", 8, RSI, R8);
    asm.put("mov", 8, RDI, AT_FDCWD);
    asm.put("mov", 8, RDX, saved(RDX));
    asm.put("xor", 4, R10, R10);
    systemCall(asm, SYSTEM.openAt);
    // The original stays open if the replacing file is gone.
    asm.put("test", 4, RAX, RAX);
    asm.jump(restore, "s");
    asm.put("mov", 8, RDI, place(RSP, RESULT));
    asm.put("mov", 8, place(RSP, RESULT), RAX);
    systemCall(asm, SYSTEM.close);
    asm.jump(restore);
    asm.bind(next);
    asm.put("add", 8, R8, ENTRY_BYTES);
    asm.jump(entries);
  });
}

function redirectLink(asm: Assembler, link: Label): void {
  const [bytes, same, fits] = [asm.label(), asm.label(), asm.label()];
  withSystemCall(asm, 4, (restore) => {
    asm.put("lea", 8, R8, relative(link));
    asm.put("cmp", 8, RAX, place(R8, FROM_BYTES));
    asm.jump(restore, "ne");
    asm.put("mov", 8, RCX, RAX);
    asm.bind(bytes);
    asm.put("sub", 8, RCX, 1);
    asm.jump(same, "s");
    asm.put("mov", 1, RAX, place(R8, FROM, RCX, 1));
    asm.put("cmp", 1, RAX, place(RSI, 0, RCX, 1));
    asm.jump(bytes, "e");
    asm.jump(restore);
    asm.bind(same);
    asm.put("mov", 8, RCX, place(R8, TO_BYTES));
    asm.put("cmp", 8, RCX, saved(RDX));
    asm.jump(fits, "be");
    asm.put("mov", 8, RCX, saved(RDX));
    asm.bind(fits);
    asm.put("mov", 8, place(RSP, RESULT), RCX);
    asm.put("mov", 8, RDI, saved(RSI));
    asm.put("lea", 8, RSI, place(R8, TO));
    asm.put("cld", 4);
    asm.put("rep movsb", 1);
  });
}

/**
 * Makes a system call. If that has a result, runs code that may change the result at `RESULT`. Compares the
 * result with errors.
 */
function withSystemCall(asm: Assembler, checkedBytes: 4 | 8, then: (restore: Label) => void): void {
  const [restore, done] = [asm.label(), asm.label()];
  asm.put("syscall", 4);
  asm.put("test", 4, RAX, RAX);
  asm.jump(done, "s");
  asm.put("lea", 8, RSP, place(RSP, -(RED_ZONE + FRAME_BYTES)));
  for (const register of KEPT) asm.put("mov", 8, saved(register), register);
  asm.put("mov", 8, place(RSP, RESULT), RAX);
  then(restore);
  asm.bind(restore);
  asm.put("mov", 8, RAX, place(RSP, RESULT));
  for (const register of KEPT) asm.put("mov", 8, register, saved(register));
  asm.put("lea", 8, RSP, place(RSP, RED_ZONE + FRAME_BYTES));
  asm.bind(done);
  asm.put("cmp", checkedBytes, RAX, FIRST_ERROR);
  asm.put("ret", 4);
}

function saved(register: (typeof KEPT)[number]) {
  return place(RSP, SAVED + 8 * KEPT.indexOf(register));
}

/** Returns the room for a table of files. It grows in steps, so that few different copies are made. */
export function tableBytesFor(files: readonly Mount[]): number {
  let bytes = LEAST_TABLE_BYTES;
  while (bytes < tableOf(files).length) bytes *= 2;
  return bytes;
}

export interface Redirected {
  /** file: the file that opening `path` returns; paths without a file are left out */
  readonly files: readonly Mount[];
  /** path: the path that reading a link to `file` returns */
  readonly link?: Mount | undefined;
}

/**
 * Writes the changes into a copy of a dynamic linker. Its added code must begin with that of `redirections`.
 */
export function redirect(copy: Uint8Array, { files, link }: Redirected, tableBytes: number): void {
  const code = openObject(copy).segments.filter(({ flags }) => (flags & PF_X) !== 0);
  const { fileOffset } = code.reduce((last, segment) => (segment.address > last.address ? segment : last));
  const at = redirections(tableBytes);
  copy.set(tableOf(files), fileOffset + at.table);
  if (link === undefined) return;
  const view = new DataView(copy.buffer, copy.byteOffset + fileOffset + at.link, LINK_BYTES);
  for (const [path, bytesAt, pathAt] of [
    [link.file, FROM_BYTES, FROM],
    [link.path, TO_BYTES, TO],
  ] as const) {
    const bytes = new TextEncoder().encode(path);
    view.setBigUint64(bytesAt, BigInt(bytes.length), true);
    copy.set(bytes, fileOffset + at.link + pathAt);
  }
}

/**
 * Changes a program's dynamic linker for the kernel only. The path in memory stays, because the dynamic
 * linker identifies itself by it.
 */
export function withInterpreter(program: Uint8Array, path: string): Uint8Array {
  const text = new TextEncoder().encode(`${path}\0`);
  const bytes = new Uint8Array(program.length + text.length);
  bytes.set(program);
  bytes.set(text, program.length);
  const view = new DataView(bytes.buffer);
  const headers = Number(view.getBigUint64(E_PHOFF, true));
  for (let i = 0; i < view.getUint16(E_PHNUM, true); i++) {
    const at = headers + PROGRAM_HEADER_BYTES * i;
    if (view.getUint32(at, true) !== PT_INTERP) continue;
    view.setBigUint64(at + P_OFFSET, BigInt(program.length), true);
    view.setBigUint64(at + P_FILESZ, BigInt(text.length), true);
  }
  return bytes;
}

function tableOf(files: readonly Mount[]): Uint8Array {
  const encoder = new TextEncoder();
  const existing = files.flatMap(({ file, path }) => {
    const status = statSync(path, { bigint: true, throwIfNoEntry: false });
    return status === undefined ? [] : [{ status, path: encoder.encode(`${file}\0`) }];
  });
  const pathsAt = ENTRY_BYTES * (existing.length + 1);
  const table = new Uint8Array(existing.reduce((bytes, { path }) => bytes + path.length, pathsAt));
  const view = new DataView(table.buffer);
  let at = pathsAt;
  for (const [i, { status, path }] of existing.entries()) {
    const entry = ENTRY_BYTES * i;
    view.setBigUint64(entry + DEVICE, status.dev, true);
    view.setBigUint64(entry + INODE, status.ino, true);
    view.setBigInt64(entry + PATH, BigInt(at - entry), true);
    table.set(path, at);
    at += path.length;
  }
  return table;
}
