import { entryOf } from "../../../ground/bytes/entries.ts";
import type { Memory } from "./memory.ts";
import type { ModuleMap } from "./modules.ts";
import type { Registers } from "./registers.ts";

/** Reads code at an address of the process: from the module's file, else from memory. */
export type ReadCode = (address: number, length: number) => Uint8Array;

function matches(code: Uint8Array, at: number, bytes: readonly number[]): boolean {
  return bytes.every((byte, i) => code[at + i] === byte);
}

/** `mov $15, %rax; syscall` */
const X86_64_SIGRETURN = [0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05];
/** `mov x8, #139; svc #0` */
const AARCH64_SIGRETURN = [0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4];
/** Offsets of the saved registers 0 to 16 from the stack pointer on return from the handler. */
const X86_64_CONTEXT = [144, 136, 152, 128, 112, 104, 120, 160, 40, 48, 56, 64, 72, 80, 88, 96, 168];
/** Offset of x0; the other registers, sp and pc follow. */
const AARCH64_CONTEXT = 312;

/**
 * True if an address must be checked although it has call frame information. Go's trampoline, and the code before
 * it, have the same information as any function. The trampoline is aligned as functions are.
 */
export function mayBeTrampoline(pc: number, isCaller: boolean): boolean {
  return isCaller && pc % 16 === 0;
}

export function isSignalTrampoline(architecture: string, pc: number, readCode: ReadCode): boolean {
  const code = architecture === "aarch64" ? AARCH64_SIGRETURN : X86_64_SIGRETURN;
  return matches(readCode(pc, code.length), 0, code);
}

/** Reads the interrupted registers from the kernel's signal frame; returns false if they are not readable. */
export function restoreSignalContext(registers: Registers, memory: Memory, interrupted: Registers): boolean {
  const { target } = registers;
  const sp = registers.address(target.stackPointer);
  const isAarch64 = target.architecture === "aarch64";
  interrupted.known.fill(0);
  for (let register = 0; register <= target.pc; register++) {
    const offset = isAarch64 ? AARCH64_CONTEXT + 8 * register : X86_64_CONTEXT[register];
    if (!memory.readWord(sp + offset)) return false;
    interrupted.setHalves(register, memory.low, memory.high);
  }
  return true;
}

/**
 * Steps by the frame pointer: [fp] is the caller's frame pointer, [fp + 8] the return address.
 * `continuesFrameChain` and `looksLikeReturnAddress` must check the result.
 *
 * @returns the CFA; NaN if the words cannot be read
 */
export function framePointerStep(registers: Registers, memory: Memory, caller: Registers): number {
  const { target } = registers;
  const framePointer = registers.address(target.framePointer);
  const stackPointer = registers.address(target.stackPointer);
  const cfa = framePointer + 16;
  // After such a frame of AArch64 the stack pointer is unknown.
  if (framePointer % 8 !== 0 || framePointer < stackPointer) return Number.NaN;
  caller.known.fill(0);
  if (!memory.readWord(framePointer)) return Number.NaN;
  caller.setHalves(target.framePointer, memory.low, memory.high);
  if (!memory.readWord(framePointer + 8)) return Number.NaN;
  caller.setHalves(target.pc, memory.low, memory.high);
  if (target.linkRegister === undefined) caller.setAddress(target.stackPointer, cfa);
  else caller.setHalves(target.linkRegister, memory.low, memory.high);
  return cfa;
}

/** True if the caller has a plausible frame pointer too, as in all code compiled with frame pointers. */
export function continuesFrameChain(registers: Registers, caller: Registers): boolean {
  const { framePointer } = registers.target;
  const next = caller.address(framePointer);
  // The outermost frame of a chain has a frame pointer of 0.
  return next === 0 || (next > registers.address(framePointer) && next % 8 === 0);
}

/**
 * True if an address can be a return address on x86-64: code of a module, preceded by a call if its bytes are
 * readable.
 */
export function looksLikeReturnAddress(address: number, modules: ModuleMap, readCode: ReadCode): boolean {
  const module = modules.find(address - 1);
  if (module?.table === undefined || module.table.find(address - 1 - module.bias) === 0) return false;
  const code = readCode(address - 7, 7);
  return code.length < 7 || endsWithCall(code);
}

export function endsWithCall(code: Uint8Array): boolean {
  const at = (back: number) => code[code.length - back];
  if (at(5) === 0xe8) return true;
  for (let length = 2; length <= 7; length++) {
    const modrm = at(length - 1);
    if (at(length) === 0xff && (modrm & 0x38) === 0x10 && modrmLength(modrm, at(length - 2)) === length - 1)
      return true;
  }
  return false;
}

/** Bytes of a ModRM operand: the ModRM byte, a SIB byte, and a displacement. */
function modrmLength(modrm: number, sib: number): number {
  const mode = modrm >>> 6;
  const rm = modrm & 7;
  if (mode === 3) return 1;
  const hasSib = rm === 4;
  const wide = mode === 2 || (mode === 0 && (rm === 5 || (hasSib && (sib & 7) === 5)));
  return 1 + (hasSib ? 1 : 0) + (mode === 1 ? 1 : wide ? 4 : 0);
}

/** Step out of a stub: the return address is just below the CFA. */
export interface StubStep {
  readonly cfaOffset: number;
  /** Distance to use instead, if there is no return address below the first CFA. */
  readonly otherCfaOffset?: number;
}

interface Layout {
  /** Code as hexadecimal digits, with dots for bytes that differ from stub to stub. */
  readonly code: string;
  /** CFA's distance above the stack pointer, from each code offset on. */
  readonly steps: readonly (readonly [offset: number, cfaOffset: number, otherCfaOffset?: number])[];
}

const CALL = "e8........";
const JUMP = "e9........";
const PUSH_INDEX = "68........";
const PUSH_SLOT = "ff35........";
const ENDBR64 = "f30f1efa";
const LOAD_SLOT = "4c8b1d........";
/** Loop of `pause; lfence; jmp` in which a speculating processor waits. */
const WAIT = "f3900faee8ebf9";

/**
 * Stubs of procedure linkage tables, in pieces of 16 bytes. Linkers of the LLVM family write no call frame
 * information for them.
 */
const LAYOUTS: readonly Layout[] = [
  // Head of a table: it pushes one slot and jumps through the next one.
  ...["ff25", "f2ff25"].map(
    (jump): Layout => ({
      code: PUSH_SLOT + jump,
      steps: [
        [0, 16],
        [6, 24],
      ],
    }),
  ),
  {
    code: `ff25........${PUSH_INDEX}${JUMP}`,
    steps: [
      [0, 8],
      [11, 16],
    ],
  },
  // Entry in two halves, each with a landing pad.
  ...["e9", "f2"].map(
    (jump): Layout => ({
      code: ENDBR64 + PUSH_INDEX + jump,
      steps: [
        [0, 8],
        [9, 16],
      ],
    }),
  ),
  ...["ff25", "f2ff25"].map((jump): Layout => ({ code: ENDBR64 + jump, steps: [[0, 8]] })),
  // Stub of `-z retpolineplt`: the target's address goes to r11, and then replaces the return address of a call.
  {
    code: `${PUSH_SLOT}${LOAD_SLOT}e8....`,
    steps: [
      [0, 16],
      [6, 24],
    ],
  },
  { code: `....${WAIT}`, steps: [[0, 24]] },
  // After that replacement, the calling stub has no frame any more: either an entry, or the head with two words on
  // the stack.
  {
    code: "4c891c24c3",
    steps: [
      [0, 8],
      [4, 16, 32],
    ],
  },
  { code: `${LOAD_SLOT}${CALL}e9`, steps: [[0, 8]] },
  {
    code: `..${PUSH_INDEX}${JUMP}cccccccccc`,
    steps: [
      [0, 8],
      [6, 16],
    ],
  },
  // Stub of `-z retpolineplt` with `-z now`.
  { code: CALL + WAIT, steps: [[0, 8]] },
  { code: `${LOAD_SLOT}${JUMP}cccccccc`, steps: [[0, 8]] },
];

const PIECE_BYTES = 16;

export function pltStep(pc: number, readCode: ReadCode): StubStep | undefined {
  const offset = pc % PIECE_BYTES;
  const code = readCode(pc - offset, PIECE_BYTES);
  if (code.length < PIECE_BYTES) return undefined;
  const layout = LAYOUTS.find((candidate) => fits(code, candidate));
  const step = layout?.steps.findLast(([from]) => from <= offset);
  if (step === undefined) return undefined;
  const [, cfaOffset, otherCfaOffset] = step;
  return otherCfaOffset === undefined ? { cfaOffset } : { cfaOffset, otherCfaOffset };
}

/** Bytes of the layouts' codes; NaN matches any byte. */
const BYTES = new Map<Layout, readonly number[]>();

function bytesOf(layout: Layout): readonly number[] {
  const bytes = entryOf(BYTES, layout, () =>
    layout.code.match(/../g)!.map((digits) => Number.parseInt(digits, 16)),
  );
  return bytes;
}

function fits(code: Uint8Array, layout: Layout): boolean {
  return bytesOf(layout).every((byte, at) => Number.isNaN(byte) || byte === code[at]);
}
