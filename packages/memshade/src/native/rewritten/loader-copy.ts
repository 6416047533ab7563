import { FormatError } from "../../bytes/errors.ts";
import { openObject } from "../../objects/index.ts";
import { decode, FLOW, INSTRUCTION_POINTER, Instruction } from "../../x64/decode/index.ts";
import { Assembler, R8, R9, R10, RAX, RCX, RDI, RDX, RSI } from "../../x64/index.ts";
import { int32, relative } from "../../x64/operands.ts";
import { type NativeTool, type ShadowRange, SLOW_PATHS } from "../native-tool.ts";
import { FileLayout } from "../rewrite/write-file.ts";
import { REFUSED } from "../start/launcher.ts";
import { exitWith, systemCall } from "../start/system-calls.ts";

const PAGE_BYTES = 0x1000;
const WORD_BYTES = 8;
const [JUMP, CALL] = [0xe9, 0xe8];
const JUMP_BYTES = 5;
const [WRITE, MMAP, MADVISE] = [1, 9, 28];
const STDERR = 2;
const READ_WRITE = 3;
/** private, anonymous, no memory reserved, at that address or not at all */
const MAP_FLAGS = 0x2 | 0x20 | 0x4000 | 0x100000;
/** Whoever writes a core would write all of the addresses. */
const DONTDUMP = 16;

/** Written by a process that finds no room. */
const NO_ROOM =
  "memshade: what counts accesses finds no room at its addresses, 0x7ff00000 and up: they are taken (ulimit -s unlimited has libraries there), limited (ulimit -v), or the system gives out no more than it has (vm.overcommit_memory=2)\n";

/** The ranges that code of a tool uses, the words of its slow paths among them. */
export function mappedRanges({
  shadows,
  slowPaths,
}: Pick<NativeTool, "shadows" | "slowPaths">): ShadowRange[] {
  if (slowPaths === 0) return [...shadows];
  const bytes = Math.ceil((slowPaths * WORD_BYTES) / PAGE_BYTES) * PAGE_BYTES;
  return [{ address: SLOW_PATHS, bytes }, ...shadows];
}

/**
 * A dynamic linker that maps what code of a tool uses before it does anything else, in every process that begins with it. Its first
 * instructions give way to a jump, and stand behind that code. The entry in the file's header stays: a dynamic linker that is
 * started as a program compares it with its own.
 *
 * @throws FormatError `unsupported` if its first instructions cannot be moved
 */
export function loaderCopy(file: Uint8Array, tool: Pick<NativeTool, "shadows" | "slowPaths">): Uint8Array {
  const object = openObject(file);
  const layout = new FileLayout(file, object);
  const entry = Number(new DataView(file.buffer, file.byteOffset).getBigUint64(24, true));
  const first = layout.fileOffset(entry);
  const mapping = mappingCode(tool);
  const moved = moveInstructions(file, first, entry - (layout.textAddress + mapping.length));
  const at = layout.textAddress + mapping.length + moved.code.length + JUMP_BYTES;
  const text = [...mapping, ...moved.code, JUMP, ...int32(entry + moved.bytes - at)];
  const copy = layout.write({ text: Uint8Array.from(text) });
  copy.set([JUMP, ...int32(layout.textAddress - (entry + JUMP_BYTES))], first);
  return copy;
}

/** Instructions that a jump has room in, as they are at `distance` in front of where they were. */
function moveInstructions(file: Uint8Array, first: number, distance: number) {
  const refuse = (): never => {
    throw new FormatError("unsupported", first, "dynamic linker", "its first instructions are not known");
  };
  const instruction = new Instruction();
  const code: number[] = [];
  let at = first;
  while (at - first < JUMP_BYTES) {
    decode(file, at, instruction);
    const { length, flow, opcode, base } = instruction;
    const bytes = [...file.subarray(at, at + length)];
    if (flow === FLOW.call && opcode === CALL && length === JUMP_BYTES)
      bytes.splice(1, 4, ...int32(instruction.distance + distance));
    else if (flow !== FLOW.next || base === INSTRUCTION_POINTER) refuse();
    code.push(...bytes);
    at += length;
  }
  return { code, bytes: at - first };
}

/** Maps the ranges and fills the words, or ends the process. The kernel leaves nothing in registers but the stack pointer. */
function mappingCode(tool: Pick<NativeTool, "shadows" | "slowPaths">): Uint8Array {
  const asm = new Assembler();
  const [done, failed, nothing] = [asm.label(), asm.label(), asm.label()];
  for (const { address, bytes } of mappedRanges(tool)) {
    asm.put("movabs", 8, RDI, BigInt(address));
    asm.put("movabs", 8, RSI, BigInt(bytes));
    asm.put("mov", 4, RDX, READ_WRITE);
    asm.put("mov", 4, R10, MAP_FLAGS);
    asm.put("mov", 8, R8, -1);
    asm.put("xor", 4, R9, R9);
    systemCall(asm, MMAP);
    asm.put("cmp", 8, RAX, RDI);
    asm.jump(failed, "ne");
    asm.put("mov", 4, RDX, DONTDUMP);
    systemCall(asm, MADVISE);
  }
  if (tool.slowPaths > 0) {
    asm.put("lea", 8, RAX, relative(nothing));
    asm.put("mov", 4, RDI, SLOW_PATHS);
    asm.put("mov", 4, RCX, tool.slowPaths);
    asm.put("cld", 4);
    asm.put("rep stosq", 8);
  }
  asm.put("xor", 4, RDX, RDX);
  asm.jump(done);
  asm.bind(failed);
  const text = new TextEncoder().encode(NO_ROOM);
  asm.put("mov", 4, RDI, STDERR);
  asm.put("lea", 8, RSI, relative(asm.literal(text)));
  asm.put("mov", 4, RDX, text.length);
  systemCall(asm, WRITE);
  exitWith(asm, REFUSED);
  asm.bind(nothing);
  asm.put("ret", 4);
  // What goes on stands behind the literals: a call takes as much room as the jump there.
  asm.bind(done);
  asm.call(done);
  const { bytes, offsetOf } = asm.finish();
  const at = offsetOf(done);
  bytes.set([JUMP, ...int32(bytes.length - (at + JUMP_BYTES))], at);
  return bytes;
}
