import { type ObjectFile, openObject } from "../../../code/objects/index.ts";
import type { Relocation } from "../../../code/x64/assembler.ts";
import { decode, FLOW, INSTRUCTION_POINTER, Instruction } from "../../../code/x64/decode/index.ts";
import { Assembler, R8, R9, R10, RAX, RCX, RDI, RDX, RSI, RSP } from "../../../code/x64/index.ts";
import { int32, place, relative } from "../../../code/x64/operands.ts";
import { FormatError } from "../../../ground/bytes/errors.ts";
import { PAGE_BYTES } from "../../../ground/bytes/sizes.ts";
import { type NativeTool, type ShadowRange, SLOW_PATHS } from "../native-tool.ts";
import { WATCH_WORD } from "../rewrite/watched-system-calls.ts";
import { FileLayout } from "../rewrite/write-file.ts";
import { REFUSED } from "../start/launcher.ts";
import { exitWith, systemCall } from "../start/system-calls.ts";
import { putHeapBehindProgram } from "./heap-start.ts";
import { TABLE_BYTES } from "./original-files.ts";
import { callOfRedirection, LEAST_TABLE_BYTES, redirectedSites, redirections } from "./redirections.ts";
import { SYMBOL, watchingCode } from "./watch-system-calls.ts";

const [EXECUTE, READLINK, GETRLIMIT, SETRLIMIT] = [59, 89, 97, 160];
const RLIMIT_STACK = 3;
const LIMIT_BYTES = 16;
const UNLIMITED = -1;
/** An unusual limit as a mark: a GiB and a page. */
const BEGUN_AGAIN = 0x4000_1000;
const PATH_BYTES = 4096;
const WORD = 8;

/**
 * Assembles code that executes the program again with a stack limit, if it has none. Without a limit, the
 * kernel maps libraries in the middle of the address space, where the counters must be. `restoreStackLimit`
 * removes the limit again. The stack pointer is preserved if there was a limit or if this fails; all other
 * registers are overwritten.
 */
function beginAgainWithStackLimit(asm: Assembler): void {
  const [limited, failed] = [asm.label(), asm.label()];
  asm.put("sub", 8, RSP, LIMIT_BYTES);
  callWithLimit(asm, GETRLIMIT);
  asm.put("cmp", 8, place(RSP), UNLIMITED);
  asm.jump(limited, "ne");
  asm.put("mov", 8, place(RSP), BEGUN_AGAIN);
  callWithLimit(asm, SETRLIMIT);
  asm.put("sub", 8, RSP, PATH_BYTES);
  asm.put("lea", 8, RDI, relative(asm.literal(new TextEncoder().encode("/proc/self/exe\0"))));
  asm.put("mov", 8, RSI, RSP);
  asm.put("mov", 4, RDX, PATH_BYTES - WORD);
  systemCall(asm, READLINK);
  asm.put("test", 8, RAX, RAX);
  asm.jump(failed, "le");
  asm.put("mov", 8, place(RSP, 0, RAX, 1), 0);
  asm.put("mov", 8, RDI, RSP);
  const count = PATH_BYTES + LIMIT_BYTES;
  asm.put("mov", 8, RAX, place(RSP, count));
  asm.put("lea", 8, RSI, place(RSP, count + WORD));
  asm.put("lea", 8, RDX, place(RSP, count + 2 * WORD, RAX, WORD));
  systemCall(asm, EXECUTE);
  asm.bind(failed);
  asm.put("add", 8, RSP, PATH_BYTES);
  asm.bind(limited);
  asm.put("add", 8, RSP, LIMIT_BYTES);
}

/** Assembles code for the second execution, which preserves the stack pointer. */
function restoreStackLimit(asm: Assembler): void {
  const other = asm.label();
  asm.put("sub", 8, RSP, LIMIT_BYTES);
  callWithLimit(asm, GETRLIMIT);
  asm.put("cmp", 8, place(RSP), BEGUN_AGAIN);
  asm.jump(other, "ne");
  asm.put("mov", 8, place(RSP), UNLIMITED);
  callWithLimit(asm, SETRLIMIT);
  asm.bind(other);
  asm.put("add", 8, RSP, LIMIT_BYTES);
}

function callWithLimit(asm: Assembler, number: number): void {
  asm.put("mov", 4, RDI, RLIMIT_STACK);
  asm.put("mov", 8, RSI, RSP);
  systemCall(asm, number);
}

const [JUMP, CALL] = [0xe9, 0xe8];
const JUMP_BYTES = 5;
const [WRITE, MMAP, MADVISE] = [1, 9, 28];
const STDERR = 2;
const READ_WRITE = 3;
/** MAP_PRIVATE, MAP_ANONYMOUS, MAP_NORESERVE, MAP_FIXED_NOREPLACE */
const MAP_FLAGS = 0x2 | 0x20 | 0x4000 | 0x100000;
/** A core dump would otherwise contain all of these addresses. */
const DONTDUMP = 16;

const ALIGNMENT = 16;
const WATCHING = "watching";
const OBJECTS = "_r_debug";

const NO_ROOM =
  "memshade: the access counters cannot be mapped at 0x7ff00000 and above: these addresses are in use, the address space is limited (ulimit -v), or the system does not overcommit memory (vm.overcommit_memory=2)\n";

/**
 * Returns the ranges that inserted code uses: a page of words, which begins with those of slow paths, and the
 * tool's ranges.
 */
export function mappedRanges({ shadows }: Pick<NativeTool, "shadows">): ShadowRange[] {
  return [{ address: SLOW_PATHS, bytes: PAGE_BYTES }, ...shadows];
}

/**
 * Makes a copy of a dynamic linker that first maps the ranges of inserted code, in every process. A jump
 * replaces the first instructions, which are moved behind that code. The entry in the file's header stays,
 * because a dynamic linker that is started as a program compares it with its own. Where the copy opens files,
 * it searches a table (`redirect`).
 * @param tableBytes room for the table, which is empty
 * @throws FormatError `unsupported` if the first instructions cannot be moved
 */
export function loaderCopy(
  file: Uint8Array,
  tool: Pick<NativeTool, "shadows" | "slowPaths">,
  tableBytes = LEAST_TABLE_BYTES,
): Uint8Array {
  const object = openObject(file);
  const layout = new FileLayout(file, object);
  const entry = Number(new DataView(file.buffer, file.byteOffset).getBigUint64(24, true));
  const first = layout.fileOffset(entry);
  const redirected = redirections(tableBytes);
  const startAt = roundUp(redirected.code.length);
  const { bytes: mapping, relocations } = mappingCode(tool);
  const begin = layout.textAddress + startAt;
  const moved = moveInstructions(file, first, entry - (begin + mapping.length));
  const at = begin + mapping.length + moved.code.length + JUMP_BYTES;
  const start = [...mapping, ...moved.code, JUMP, ...int32(entry + moved.bytes - at)];
  const watching = watchingCode();
  const watchingAt = roundUp(startAt + start.length);
  const tableAt = roundUp(watchingAt + watching.bytes.length);
  const text = new Uint8Array(tableAt + TABLE_BYTES);
  text.set(redirected.code);
  text.set(start, startAt);
  text.set(watching.bytes, watchingAt);
  const places = {
    [WATCHING]: layout.textAddress + watchingAt,
    [SYMBOL.originals]: layout.textAddress + tableAt,
    [SYMBOL.objects]: listOfObjects(object),
  };
  link(text, layout.textAddress, startAt, relocations, places);
  link(text, layout.textAddress, watchingAt, watching.relocations, places);
  const copy = layout.write({ text });
  copy.set([JUMP, ...int32(begin - (entry + JUMP_BYTES))], first);
  for (const { at: site, kind } of redirectedSites(file)) {
    const distance = layout.textAddress + redirected[kind] - layout.address(site);
    copy.set(callOfRedirection(kind, distance), site);
  }
  return copy;
}

function roundUp(bytes: number): number {
  return Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;
}

/** Returns the address of the dynamic linker's list of objects for debuggers. */
function listOfObjects(object: ObjectFile): number {
  for (const { name, address } of object.symbols()) if (name === OBJECTS) return address;
  throw new FormatError(
    "unsupported",
    0,
    "dynamic linker",
    "it tells debuggers nothing of what it has loaded",
  );
}

/**
 * Applies relocations to code at an offset of the text.
 * @param address address of the text
 */
function link(
  text: Uint8Array,
  address: number,
  at: number,
  relocations: readonly Relocation[],
  places: Readonly<Record<string, number>>,
): void {
  const view = new DataView(text.buffer);
  for (const { offset, symbol, addend } of relocations)
    view.setInt32(at + offset, places[symbol] - (address + at + offset) + addend, true);
}

/** Returns the instructions that a jump replaces, adjusted to a place `distance` bytes lower. */
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

/**
 * Assembles code that maps the ranges and fills the words of slow paths, or ends the process. At the entry,
 * the kernel defines only the stack pointer.
 */
function mappingCode(tool: Pick<NativeTool, "shadows" | "slowPaths">) {
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
  asm.put("lea", 8, RAX, relative(WATCHING));
  asm.put("mov", 8, place(undefined, WATCH_WORD), RAX);
  restoreStackLimit(asm);
  putHeapBehindProgram(asm);
  asm.put("xor", 4, RDX, RDX);
  asm.jump(done);
  asm.bind(failed);
  beginAgainWithStackLimit(asm);
  const text = new TextEncoder().encode(NO_ROOM);
  asm.put("mov", 4, RDI, STDERR);
  asm.put("lea", 8, RSI, relative(asm.literal(text)));
  asm.put("mov", 4, RDX, text.length);
  systemCall(asm, WRITE);
  exitWith(asm, REFUSED);
  asm.bind(nothing);
  asm.put("ret", 4);
  // The moved instructions follow the literals. A call reserves the room for the jump to them.
  asm.bind(done);
  asm.call(done);
  const { bytes, offsetOf, relocations } = asm.finish();
  const at = offsetOf(done);
  bytes.set([JUMP, ...int32(bytes.length - (at + JUMP_BYTES))], at);
  return { bytes, relocations };
}
