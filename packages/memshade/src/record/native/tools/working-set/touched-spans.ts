import type { Mark, Planes, Registers } from "./mark-code.ts";

const LINE_BYTES = 64;
/** Compilers align what a register holds; what is larger may lie across the edge of a line. */
const MOST_ALIGNED_BYTES = 8;
const PLANES = [1, 2];

/** `[low, high)`, bytes behind base and index. */
interface Span {
  low: number;
  high: number;
  /** Whether all of it is one access. */
  isSingle: boolean;
}

/**
 * Accesses by the same registers with the same values, in reach of a line's length: all lie in the lines of the first and the last byte
 * touched.
 */
export class TouchedSpans {
  readonly registers: Registers;
  /** mask of the registers */
  readonly uses: number;
  /** The marks may stand in front of each instruction from here on. */
  readonly from: number;
  /** The last access, in front of which the registers still have their values: behind it, other marks may overwrite them. */
  to: number;
  /** Whether the code that marks them is written: what lies outside of them needs other marks. */
  isMarked = false;
  readonly #spans: (Span | undefined)[] = [undefined, undefined];

  constructor(registers: Registers, uses: number, from: number) {
    this.registers = registers;
    this.uses = uses;
    this.from = from;
    this.to = from;
  }

  /** Adds an access of so many bytes by an instruction, if it is near enough. @returns whether it was */
  add(instruction: number, displacement: number, bytes: number, access: Planes): boolean {
    const end = displacement + bytes;
    if (this.isMarked) return this.#covers(displacement, end, access);
    const spans = PLANES.map((plane, i) =>
      (access & plane) === 0 ? this.#spans[i] : joined(this.#spans[i], displacement, end),
    );
    if (spans.some((span) => span !== undefined && span.high - 1 - span.low > LINE_BYTES)) return false;
    this.#spans.splice(0, 2, ...spans);
    this.to = instruction;
    return true;
  }

  #covers(low: number, high: number, access: Planes): boolean {
    return PLANES.every((plane, i) => {
      const span = this.#spans[i];
      return (access & plane) === 0 || (span !== undefined && low >= span.low && high <= span.high);
    });
  }

  marks(): Mark[] {
    const planes = new Map<number, Planes>();
    this.#spans.forEach((span, i) => {
      if (span === undefined) return;
      for (const displacement of endsOf(span))
        planes.set(displacement, (planes.get(displacement) ?? 0) | PLANES[i]);
    });
    return [...planes].map(([displacement, planes]) => ({ displacement, planes }));
  }
}

function joined(span: Span | undefined, low: number, high: number): Span {
  if (span === undefined) return { low, high, isSingle: true };
  return {
    low: Math.min(span.low, low),
    high: Math.max(span.high, high),
    isSingle: span.isSingle && span.low === low && span.high === high,
  };
}

function endsOf({ low, high, isSingle }: Span): number[] {
  return isSingle && high - low <= MOST_ALIGNED_BYTES ? [low] : [low, high - 1];
}
