import { type ElfNote, readString } from "../../../code/objects/index.ts";
import { FormatError } from "../../../ground/bytes/errors.ts";
import type { MappedFile, ProcessArchitecture, RegisterWords } from "../../model/process-image.ts";
import { REGISTER_COUNT } from "../../model/process-image.ts";

/** Types of notes that the kernel writes into core dumps (`linux/elf.h`). */
export const NoteType = {
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

/** DWARF numbers in the order of `struct user_regs_struct`; −1 where unwinding has no use for the register. */
const X86_64_ORDER = [15, 14, 13, 12, 6, 3, 11, 10, 9, 8, 0, 2, 1, 4, 5, -1, 16, -1, -1, 7];
/** x0 to x30, sp, pc: the order of DWARF. */
const AARCH64_ORDER = Array.from({ length: 33 }, (_, number) => number);

export interface ThreadStatus {
  readonly lwp: number;
  readonly signal: number;
  readonly registers: RegisterWords;
}

/** Reads NT_PRSTATUS (`struct elf_prstatus`): a thread's id and registers. */
export function readThreadStatus(note: ElfNote, architecture: ProcessArchitecture): ThreadStatus {
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
export function readProcessInfo({
  content,
}: ElfNote): { pid: number; name: string; command: string } | undefined {
  if (content.length < 136) return undefined;
  return {
    pid: viewOf(content).getInt32(24, true),
    name: readString(content.subarray(40, 56), 0),
    command: readString(content.subarray(56, 136), 0).trim(),
  };
}

/** Reads NT_AUXV: values of the auxiliary vector by type (`AT_*`). */
export function readAuxiliaryVector({ content }: ElfNote): Map<number, number> {
  const view = viewOf(content);
  const values = new Map<number, number>();
  for (let at = 0; at + 16 <= content.length; at += 16) {
    const type = u64(view, at);
    if (type === 0) break;
    values.set(type, u64(view, at + 8));
  }
  return values;
}

/** Reads NT_FILE: which parts of which files were mapped. What does not fit is left out. */
export function readMappedFiles({ content }: ElfNote): MappedFile[] {
  if (content.length < 16) return [];
  const view = viewOf(content);
  const pageSize = u64(view, 8);
  const count = Math.min(u64(view, 0), Math.floor((content.length - 16) / 24));
  const files: MappedFile[] = [];
  let nameAt = 16 + count * 24;
  for (let index = 0; index < count; index++) {
    const at = 16 + index * 24;
    const path = readString(content, nameAt);
    const end = content.indexOf(0, nameAt);
    if (end < 0) break;
    nameAt = end + 1;
    const [start, stop, page] = [u64(view, at), u64(view, at + 8), u64(view, at + 16)];
    if (stop > start) files.push({ start, end: stop, fileOffset: page * pageSize, path });
  }
  return files.sort((a, b) => a.start - b.start);
}

/** Reads NT_ARM_PAC_MASK: the bits of code addresses that hold a signature. */
export function readCodeAddressMask({ content }: ElfNote): [number, number] | undefined {
  if (content.length < 16) return undefined;
  const view = viewOf(content);
  return [view.getUint32(8, true), view.getUint32(12, true)];
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function u64(view: DataView, offset: number): number {
  return view.getUint32(offset + 4, true) * 2 ** 32 + view.getUint32(offset, true);
}
