import { openObject } from "../../../code/objects/index.ts";
import type { ObjectSymbol } from "../../../code/objects/symbol-table.ts";
import type { ObjectFile } from "../../../code/objects/types.ts";
import { frameEntries } from "../../../code/unwind/index.ts";
import { FLOW, Instruction } from "../../../code/x64/decode/index.ts";
import { FormatError } from "../../../ground/bytes/errors.ts";
import { int32At, viewOf } from "../../../ground/bytes/numbers.ts";
import { OPCODE } from "./address-flow.ts";
import { Code, type CodeFunction, endsPath, fillerBytes, type LeftAlone, type Stubs, TRAIT } from "./code.ts";
import { functionsThatAreData, importedFunctions, slotOfCall } from "./code-as-data.ts";
import { dataWords, hasTextRelocations, pointersIn, relocatedPointers } from "./dynamic.ts";
import { emitText, type NewText } from "./emit.ts";
import { FlowGraph, findLabels, type TableEntry } from "./flow-graph.ts";
import { writeFrames } from "./frames/frames.ts";
import { relativeAddress } from "./jump-tables.ts";
import { Liveness } from "./liveness.ts";
import { writeOrigins } from "./origins.ts";
import type { PlanBlock } from "./plan.ts";
import { writeSectionHeaders } from "./section-headers.ts";
import { FileLayout } from "./write-file.ts";

/** PF_W and PF_X */
const WRITABLE_CODE = 3;

export interface Rewritten {
  readonly bytes: Uint8Array;
  readonly functions: number;
  readonly leftAlone: LeftAlone;
  readonly unpatched: Unpatched;
  /** bytes of code outside all functions of `.eh_frame`, which runs unchanged */
  readonly withoutFrames: number;
  readonly oldText: number;
  readonly newText: number;
  /** File for `Origins`, which maps addresses of the new code to the old code. */
  readonly origins: Uint8Array;
}

/** Options for rewriting. A file that is rewritten without any of them runs with every dynamic linker. */
interface RewriteOptions {
  /** 48 bits that a process finds in the program header `PT_REWRITTEN` */
  readonly mark?: number;
  /** bytes of address space behind the old file that stay free for the heap */
  readonly heapRoom?: number;
  /**
   * System calls are checked first. This needs ranges that our copy of the dynamic linker maps
   * (`watched-system-calls.ts`).
   */
  readonly areCallsWatched?: boolean;
}

/**
 * Rewrites an executable or a library: appends new code for all functions, with the insertions of `plan`. The
 * old code stays at its addresses; jumps at function entries lead from it to the new code.
 * @throws FormatError `unsupported` unless this is an x86-64 ELF file with functions in `.eh_frame`
 */
export function rewriteFile(
  file: Uint8Array,
  plan: PlanBlock,
  { mark = 0, heapRoom = 0, areCallsWatched = false }: RewriteOptions = {},
): Rewritten {
  const object = openObject(file);
  if (object.kind !== "elf" || object.architecture !== "x86_64" || object.addressSize !== 8)
    throw new FormatError("unsupported", 0, "ELF file", "it is not one of x86-64");
  if (hasTextRelocations(object))
    throw new FormatError("unsupported", 0, "ELF file", "the dynamic linker writes into its code");
  if (object.segments.some(({ flags }) => (flags & WRITABLE_CODE) === WRITABLE_CODE))
    throw new FormatError("unsupported", 0, "ELF file", "its code can be written");
  const layout = new FileLayout(file, object, heapRoom);
  const wholeCode = new Code(object);
  if (hasAddressOfCodeEnd(wholeCode, object))
    throw new FormatError(
      "unsupported",
      0,
      "ELF file",
      "it has the address of its code's end, as for a sum of all its code",
    );
  const fixed = new Set([
    ...functionsByReturnAddress(wholeCode, object),
    ...functionsThatAreData(wholeCode, object),
  ]);
  const code = fixed.size === 0 ? wholeCode : new Code(object, fixed);
  const labels = findLabels(code, object);
  const graph = new FlowGraph(code, labels);
  const text = emitText(graph, new Liveness(graph), plan, layout.textAddress, areCallsWatched);
  const data = layout.dataAddress(text.bytes.length);
  const framesAddress = layout.framesAddress(data);
  const frames = writeFrames(code, text, layout.textAddress, object, framesAddress);
  const stretch = (address: number, bytes: number) => ({ address, offset: layout.offsetOf(address), bytes });
  const { searchBytes, framesAt } = frames;
  const added = {
    text: stretch(layout.textAddress, text.bytes.length),
    search: stretch(framesAddress, searchBytes),
    frames: stretch(framesAddress + framesAt, frames.bytes.length - framesAt),
  };
  const sectionsAt = layout.sectionsOffset(text.bytes.length, frames.bytes.length);
  const sections = writeSectionHeaders(file, object, code, text, added, sectionsAt);
  const bytes = layout.write({ text: text.bytes, frames: frames.bytes, mark, sections });
  const unpatched = patchEntries(code, text, layout, bytes);
  patchTables(code, text, layout, labels.entries, bytes);
  return {
    bytes,
    functions: code.functions.length,
    leftAlone: code.leftAlone,
    unpatched,
    withoutFrames: bytesWithoutFrames(object, code.stubs, code.base),
    oldText: code.functions.reduce((sum, { start, end }) => sum + end - start, 0),
    newText: text.bytes.length,
    origins: writeOrigins(code, text, layout.textAddress),
  };
}

/**
 * Returns functions whose frames are found by a table of return addresses, as OCaml's garbage collector does.
 * Calls in such functions must keep their addresses. A file has such a table if pointers refer to most return
 * addresses of these functions. Otherwise the pointers are labels behind calls that do not return.
 * @returns addresses (SVMA) of the functions
 */
function functionsByReturnAddress(code: Code, object: ObjectFile): Set<number> {
  const pointed = new Uint8Array(code.count + 1);
  const mark = (address: number): void => {
    const instruction = code.instructionAt(address - code.base);
    if (instruction >= 0) pointed[instruction] = 1;
  };
  if (object.type === "executable") for (const { address } of dataWords(object)) mark(address);
  else for (const address of relocatedPointers(object)) mark(address);
  const found = new Set<number>();
  let allCalls = 0;
  let allKnown = 0;
  for (const codeFunction of code.functions) {
    const { calls, known } = returnsOf(code, codeFunction, pointed);
    if (known === 0) continue;
    found.add(code.base + codeFunction.start);
    allCalls += calls;
    allKnown += known;
  }
  return allKnown > allCalls / 2 ? found : new Set();
}

/** Returns the number of calls in a function, and the number of return addresses that are pointed to. */
function returnsOf(
  { flows, offsets, lengths }: Code,
  { first, last }: CodeFunction,
  pointed: Uint8Array,
): { calls: number; known: number } {
  let calls = 0;
  let known = 0;
  for (let i = first; i < last; i++) {
    if (flows[i] !== FLOW.call && flows[i] !== FLOW.indirectCall) continue;
    calls++;
    if (offsets[i + 1] === offsets[i] + lengths[i]) known += pointed[i + 1];
  }
  return { calls, known };
}

const [JUMP, SHORT_JUMP] = [0xe9, 0xeb];
const [JUMP_BYTES, SHORT_JUMP_BYTES] = [5, 2];
const SHORT_REACH = 128;

/** Targets in the old code that have no room for a jump to the new code. */
interface Unpatched {
  readonly places: number;
  /**
   * Number of functions with accesses among these targets. Direct calls reach their new code, calls by
   * pointers run the old code.
   */
  readonly functions: number;
}

/**
 * Overwrites old code with jumps to the new code: at function entries, and at targets of computed addresses.
 * A jump has the effect of the instructions that it replaces, unless control arrives in its middle. If only a
 * short jump has room, it leads to a long jump in the padding nearby.
 * @returns targets without room for a jump: the old code runs from there
 */
function patchEntries(code: Code, text: NewText, layout: FileLayout, file: Uint8Array): Unpatched {
  const taken = new Uint8Array(code.bytes.length);
  const write = (offset: number, bytes: number, opcode: number, distance: number): void => {
    const at = layout.fileOffset(code.base + offset);
    file[at] = opcode;
    for (let byte = 1; byte < bytes; byte++) file[at + byte] = distance >> (8 * (byte - 1));
    taken.fill(1, offset, offset + bytes);
  };
  const jump = (offset: number, instruction: number): void => {
    const to = layout.textAddress + text.offsets[instruction];
    write(offset, JUMP_BYTES, JUMP, to - (code.base + offset + JUMP_BYTES));
  };

  const padding = paddingOf(code);
  const narrow: number[] = [];
  for (const offset of new Set([...code.functions.map(({ start }) => start), ...code.labels])) {
    const i = code.instructionAt(offset);
    if (hasRoom(code, padding, offset, JUMP_BYTES)) jump(offset, i);
    else narrow.push(i);
  }
  let places = 0;
  let functions = 0;
  for (const i of narrow) {
    const offset = code.offsets[i];
    const island = hasRoom(code, padding, offset, SHORT_JUMP_BYTES)
      ? islandNear(padding, taken, offset)
      : undefined;
    if (island === undefined) {
      places++;
      const f = code.functionAt(offset);
      if (f >= 0 && hasAccess(code, f)) functions++;
    } else {
      jump(island, i);
      write(offset, SHORT_JUMP_BYTES, SHORT_JUMP, island - (offset + SHORT_JUMP_BYTES));
    }
  }
  return { places, functions };
}

function hasAccess({ functions, traits }: Code, f: number): boolean {
  const { first, last } = functions[f];
  return traits.subarray(first, last).some((trait) => (trait & TRAIT.access) !== 0);
}

function patchTables(
  code: Code,
  text: NewText,
  layout: FileLayout,
  entries: readonly TableEntry[],
  file: Uint8Array,
): void {
  const view = viewOf(file);
  for (const { address, from, bytes, target } of entries) {
    const to = layout.textAddress + text.offsets[code.instructionAt(target)];
    const at = layout.fileOffset(address);
    if (bytes === 8) view.setBigInt64(at, BigInt(to - from), true);
    else view.setInt32(at, to - from, true);
  }
}

function hasRoom(code: Code, padding: Uint8Array, offset: number, bytes: number): boolean {
  if (offset + bytes > code.bytes.length) return false;
  const { end } = code.functions[code.functionAround(offset)];
  for (let at = offset + 1; at < offset + bytes; at++)
    if (code.isLeader(at) || (at >= end && padding[at] === 0)) return false;
  return true;
}

/** Returns the offset of padding for a long jump, within reach of a short one. */
function islandNear(padding: Uint8Array, taken: Uint8Array, offset: number): number | undefined {
  const from = Math.max(0, offset + SHORT_JUMP_BYTES - SHORT_REACH);
  const to = Math.min(padding.length - JUMP_BYTES, offset + SHORT_JUMP_BYTES + SHORT_REACH - 1);
  let free = 0;
  for (let at = from; at < to + JUMP_BYTES; at++) {
    free = padding[at] === 1 && taken[at] === 0 ? free + 1 : 0;
    if (free === JUMP_BYTES) return at + 1 - JUMP_BYTES;
  }
  return undefined;
}

/**
 * Returns 1 for each byte that never runs: filler behind functions, and nops inside them that control does
 * not reach.
 */
function paddingOf(code: Code): Uint8Array {
  const padding = new Uint8Array(code.bytes.length);
  const instruction = new Instruction();
  for (const [f, { first, last, end }] of code.functions.entries()) {
    for (let i = first + 1; i < last; i++) {
      if ((code.traits[i] & TRAIT.nop) === 0) continue;
      const isBehindEnd = endsPath(code.flows[i - 1]) || padding[code.offsets[i - 1]] === 1;
      const isReached = (code.traits[i] & TRAIT.leader) !== 0;
      if (isBehindEnd && !isReached) padding.fill(1, code.offsets[i], code.offsets[i] + code.lengths[i]);
    }
    const limit = code.functions[f + 1]?.start ?? code.bytes.length;
    for (let at = end; at < limit && !code.isLeader(at); ) {
      const length = fillerBytes(code.bytes, at, instruction);
      if (length === 0) break;
      padding.fill(1, at, at + length);
      at += length;
    }
  }
  return padding;
}

/** SHF_EXECINSTR of sections, PF_X of segments. */
const [EXECUTABLE_SECTION, EXECUTABLE_SEGMENT] = [4, 1];
/** Shorter ranges are mostly padding and startup code. They count only from their first symbol on. */
const LEAST_BYTES = 256;
/** Filler bytes of linkers and compilers: zero, `nop` and `int3`. */
const FILLING = new Set([0, 0x90, 0xcc]);
/** Functions without frame information that compilers and C libraries add to every program. */
const OF_EVERY_PROGRAM = new Set([
  "_init",
  "_fini",
  "_start",
  "frame_dummy",
  "deregister_tm_clones",
  "register_tm_clones",
  "__do_global_dtors_aux",
  "__do_global_ctors_aux",
  "__do_init",
  "__do_fini",
]);

interface Range {
  start: number;
  end: number;
}

/**
 * Returns the bytes of code outside all functions of `.eh_frame`. Tables between functions are counted. Stubs
 * and short ranges without a name are not.
 * @param base address (SVMA) from which offsets of `stubs` count
 */
export function bytesWithoutFrames(object: ObjectFile, stubs: Stubs, base: number): number {
  const frames = frameEntries(object).sort((a, b) => a.start - b.start);
  let bytes = 0;
  for (const range of executableRanges(object)) {
    if (stubs.has(range.start - base)) continue;
    let at = range.start;
    for (const { start, size } of frames) {
      if (start >= range.end) break;
      if (start + size <= at) continue;
      bytes += bytesOfCode(object, at, start);
      at = start + size;
    }
    bytes += bytesOfCode(object, at, range.end);
  }
  return bytes;
}

/** Returns executable sections, or segments if there are none. */
function executableRanges({ sections, segments }: ObjectFile): Range[] {
  const own = sections.filter(({ flags, address }) => (flags & EXECUTABLE_SECTION) !== 0 && address !== 0);
  if (own.length > 0) return own.map(({ address, size }) => ({ start: address, end: address + size }));
  return segments
    .filter(({ flags }) => (flags & EXECUTABLE_SEGMENT) !== 0)
    .map(({ address, fileSize }) => ({ start: address, end: address + fileSize }));
}

/** Returns the bytes of code in a range between functions. */
function bytesOfCode(object: ObjectFile, start: number, end: number): number {
  const from = end - start >= LEAST_BYTES ? start : (firstSymbol(object, start, end)?.address ?? end);
  return from < end && object.bytesAt(from, end - from).some((byte) => !FILLING.has(byte)) ? end - from : 0;
}

function firstSymbol(object: ObjectFile, start: number, end: number): ObjectSymbol | undefined {
  const symbols = object.symbols();
  for (let i = symbols.lastAtOrBefore(start - 1) + 1; i < symbols.length && symbols.addresses[i] < end; i++) {
    const symbol = symbols.at(i);
    if (symbol.kind !== "data" && !OF_EVERY_PROGRAM.has(symbol.name)) return symbol;
  }
  return undefined;
}

const PF_X = 1;
const CONSTANT_BYTES = 4;
/** Functions of gprof, which use the ends of code only as numbers. */
const TAKERS: ReadonlySet<string> = new Set(["__monstartup", "monstartup"]);

/**
 * Returns true if an object contains the address of its code's end (`etext`). Programs that compute a sum of
 * all their code need it.
 */
function hasAddressOfCodeEnd(code: Code, object: ObjectFile): boolean {
  const ends = endsOfCode(object);
  for (const { address } of pointersIn(object)) if (ends.has(address)) return true;
  let imported: ReadonlyMap<number, string> | undefined;
  const areFixed = object.type === "executable";
  for (const codeFunction of code.functions) {
    if (!putsAddress(code, codeFunction, ends, areFixed)) continue;
    imported ??= importedFunctions(object);
    if (!callsTaker(code, codeFunction, imported)) return true;
  }
  return false;
}

/**
 * Returns ends of executable segments and of `.fini`, because linkers differ. An address where another
 * section begins is no end.
 */
function endsOfCode({ segments, sections }: ObjectFile): Set<number> {
  const ends = new Set<number>();
  for (const { flags, address, fileSize } of segments) if ((flags & PF_X) !== 0) ends.add(address + fileSize);
  for (const { name, address, size } of sections) if (name === ".fini") ends.add(address + size);
  for (const { address } of [...segments, ...sections]) ends.delete(address);
  return ends;
}

function putsAddress(
  code: Code,
  { first, last }: CodeFunction,
  addresses: ReadonlySet<number>,
  areFixed: boolean,
): boolean {
  const { bytes, offsets, lengths, opcodes, relativeAt } = code;
  for (let i = first; i < last; i++) {
    const constantAt = offsets[i] + lengths[i] - CONSTANT_BYTES;
    if (relativeAt[i] !== 0) {
      if (opcodes[i] === OPCODE.lea && addresses.has(relativeAddress(code, i))) return true;
    } else if (areFixed && constantAt > offsets[i] && addresses.has(int32At(bytes, constantAt))) return true;
  }
  return false;
}

function callsTaker(
  code: Code,
  { first, last }: CodeFunction,
  imported: ReadonlyMap<number, string>,
): boolean {
  for (let i = first; i < last; i++) {
    if (code.flows[i] !== FLOW.call && code.flows[i] !== FLOW.indirectCall) continue;
    if (TAKERS.has(imported.get(slotOfCall(code, i) ?? -1) ?? "")) return true;
  }
  return false;
}
