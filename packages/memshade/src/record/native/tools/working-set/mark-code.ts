import { GENERAL, type Register } from "../../../../code/x64/index.ts";
import { type Place, placeBytes } from "../../../../code/x64/operands.ts";
import { LINE_BYTES } from "../../../../ground/bytes/sizes.ts";
import { LINE_SHIFT, MARK_BYTES, MARKS } from "./layout.ts";

/** Kinds of accesses to a line: bits of the decoder's `READ` and `WRITE`. */
export type Planes = number;
const [READ, BOTH] = [1, 3];

interface Mark {
  /** Distance from base and index, bytes. */
  displacement: number;
  planes: Planes;
}

/** Operands of an address, without displacement. */
interface Registers {
  base: Register | undefined;
  index: Register | undefined;
  scale: Place["scale"];
  isShort: boolean;
}

/** Replaces each register by the one that holds its value. */
export function renamed(
  { base, index, ...rest }: Registers,
  holderOf: (register: number) => number,
): Registers {
  const other = (register: Register | undefined) => register && GENERAL[holderOf(register.number)];
  return { ...rest, base: other(base), index: other(index) };
}

/** Emits `lea`, `shr` and `mov` for each mark. Overwrites `register` and the flags. */
export function markPlaces(registers: Registers, marks: readonly Mark[], register: number): number[] {
  return marks.flatMap(({ displacement, planes }) => [
    ...loadAddress(registers, displacement, register),
    ...lineOf(register),
    ...setMark(register, 0, planes),
  ]);
}

function loadAddress({ isShort, ...place }: Registers, displacement: number, register: number): number[] {
  const rex =
    0x48 |
    ((register >> 3) << 2) |
    ((place.index?.number ?? 0) & 8 ? 2 : 0) |
    ((place.base?.number ?? 0) >> 3);
  const bytes = placeBytes({ kind: "place", ...place, displacement }, register);
  return [...(isShort ? [0x67] : []), rex, 0x8d, ...bytes];
}

/** Offset of the open displacement in the code of `markLines`. */
export const DISTANCE_AT = 3;

/** Emits marks for lines at known distances, in lines, from an address that is at a fixed distance from the code. */
export function markLines(lines: readonly { line: number; planes: Planes }[], register: number): number[] {
  const high = register >> 3;
  return [
    0x48 | (high << 2),
    0x8d,
    ((register & 7) << 3) | 5,
    0,
    0,
    0,
    0,
    ...lineOf(register),
    ...lines.flatMap(({ line, planes }) => setMark(register, line, planes)),
  ];
}

/** `shr $6, register` */
function lineOf(register: number): number[] {
  return [0x48 | (register >> 3), 0xc1, 0xe8 | (register & 7), LINE_SHIFT];
}

/** Emits `movb $1`, or `movw $0x101` for both marks, `lines` lines after the line in the register. */
function setMark(register: number, lines: number, planes: Planes): number[] {
  const displacement = MARKS + MARK_BYTES * lines + (planes === READ || planes === BOTH ? 0 : 1);
  const at = placeBytes(
    { kind: "place", base: undefined, index: GENERAL[register], scale: MARK_BYTES, displacement },
    0,
  );
  const rex = register > 7 ? [0x42] : [];
  return planes === BOTH ? [0x66, ...rex, 0xc7, ...at, 1, 1] : [...rex, 0xc6, ...at, 1];
}

/** Size up to which compilers align accesses. A larger one may cross the edge of a line. */
const MOST_ALIGNED_BYTES = 8;
const PLANES = [1, 2];

/** Distances from base and index, bytes: `[low, high)`. */
interface Span {
  low: number;
  high: number;
  /** True if a single access covers the whole span. */
  isSingle: boolean;
}

/**
 * Accesses with the same register values, within the length of a line. All of them lie in the lines of the first and
 * the last byte touched.
 */
export class TouchedSpans {
  readonly registers: Registers;
  readonly uses: number;
  /** First instruction before which the marks may be inserted. */
  readonly from: number;
  /** The last access. The registers have their values before it; after it, other marks may have overwritten them. */
  to: number;
  /** True once the marks are generated. Bytes outside of the spans need other marks. */
  isMarked = false;
  readonly #spans: (Span | undefined)[] = [undefined, undefined];

  constructor(registers: Registers, uses: number, from: number) {
    this.registers = registers;
    this.uses = uses;
    this.from = from;
    this.to = from;
  }

  /** Adds an access if it is near enough. @returns true if it was added */
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
