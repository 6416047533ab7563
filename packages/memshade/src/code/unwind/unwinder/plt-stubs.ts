import type { ReadCode } from "./fallbacks.ts";

/** How to leave a stub: the return address lies just below the CFA. */
export interface StubStep {
  /** The CFA lies this far above the stack pointer. */
  readonly cfaOffset: number;
  /** So far, if there is no return address below the first. */
  readonly otherCfaOffset?: number;
}

interface Layout {
  /** Bytes of the code as hexadecimal digits, dots for those that differ from stub to stub. */
  readonly code: string;
  /** From which offset on the CFA lies how far above the stack pointer. */
  readonly steps: readonly (readonly [offset: number, cfaOffset: number, otherCfaOffset?: number])[];
}

const CALL = "e8........";
const JUMP = "e9........";
const PUSH_INDEX = "68........";
const PUSH_SLOT = "ff35........";
const ENDBR64 = "f30f1efa";
const LOAD_SLOT = "4c8b1d........";
/** `pause; lfence; jmp` back: where a processor that speculates waits. */
const WAIT = "f3900faee8ebf9";

/**
 * Stubs of procedure linkage tables, in pieces of 16 bytes. Linkers of the LLVM family write no call frame information for
 * them.
 */
const LAYOUTS: readonly Layout[] = [
  // The head of a table, which pushes a slot and goes where the next one says.
  ...["ff25", "f2ff25"].map(
    (jump): Layout => ({
      code: PUSH_SLOT + jump,
      steps: [
        [0, 16],
        [6, 24],
      ],
    }),
  ),
  // An entry; the second half of it runs when the function is called the first time.
  {
    code: `ff25........${PUSH_INDEX}${JUMP}`,
    steps: [
      [0, 8],
      [11, 16],
    ],
  },
  // The same in two, each with a landing pad.
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
  // `-z retpolineplt`: the address goes to r11, a call to where it takes the place of the call's own return address.
  {
    code: `${PUSH_SLOT}${LOAD_SLOT}e8....`,
    steps: [
      [0, 16],
      [6, 24],
    ],
  },
  { code: `....${WAIT}`, steps: [[0, 24]] },
  // Behind that, the stub that called is no frame any more: either an entry, or the head with two words on the stack.
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
  // With `-z now` too.
  { code: CALL + WAIT, steps: [[0, 8]] },
  { code: `${LOAD_SLOT}${JUMP}cccccccc`, steps: [[0, 8]] },
];

const PIECE_BYTES = 16;

/** How to get out of a stub of a procedure linkage table for x86-64, by its code. */
export function pltStep(pc: number, readCode: ReadCode): StubStep | undefined {
  const offset = pc % PIECE_BYTES;
  const code = readCode(pc - offset, PIECE_BYTES);
  if (code.length < PIECE_BYTES) return undefined;
  const layout = LAYOUTS.find((one) => fits(code, one));
  const step = layout?.steps.findLast(([from]) => from <= offset);
  if (step === undefined) return undefined;
  const [, cfaOffset, otherCfaOffset] = step;
  return otherCfaOffset === undefined ? { cfaOffset } : { cfaOffset, otherCfaOffset };
}

/** Bytes of the layouts' codes; NaN for any. */
const BYTES = new Map<Layout, readonly number[]>();

function bytesOf(layout: Layout): readonly number[] {
  const known = BYTES.get(layout) ?? layout.code.match(/../g)!.map((digits) => Number.parseInt(digits, 16));
  BYTES.set(layout, known);
  return known;
}

function fits(code: Uint8Array, layout: Layout): boolean {
  return bytesOf(layout).every((byte, at) => Number.isNaN(byte) || byte === code[at]);
}
