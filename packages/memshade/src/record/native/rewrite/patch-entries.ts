import { Instruction } from "../../../code/x64/decode/index.ts";
import { type Code, endsPath, fillerBytes, TRAIT } from "./code.ts";
import type { NewText } from "./emit.ts";
import type { TableEntry } from "./labels.ts";
import type { FileLayout } from "./write-file.ts";

const [JUMP, SHORT_JUMP] = [0xe9, 0xeb];
const [JUMP_BYTES, SHORT_JUMP_BYTES] = [5, 2];
const SHORT_REACH = 128;

/** Places of the old code that should lead to the new one and have no room for a jump. */
export interface Unpatched {
  readonly places: number;
  /** Functions with accesses among them: direct calls lead to the new code, pointers to the old one. */
  readonly functions: number;
}

/**
 * Writes jumps to the new code over the old one: where functions begin, and wherever addresses lead that are computed. A jump has the same
 * effect as the instructions that it stands in the place of, unless control arrives in its middle. Where only a short one has room, it
 * leads to a long one in the padding nearby.
 *
 * @returns what has no room for a jump: from there the old code runs
 */
export function patchEntries(code: Code, text: NewText, layout: FileLayout, file: Uint8Array): Unpatched {
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

/** Has entries of jump tables lead to the new code. */
export function patchTables(
  code: Code,
  text: NewText,
  layout: FileLayout,
  entries: readonly TableEntry[],
  file: Uint8Array,
): void {
  const view = new DataView(file.buffer, file.byteOffset, file.length);
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

/** Room for a long jump that a short one at an offset reaches. */
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

/** Per byte whether nothing runs there: nops and traps behind functions, and nops that nothing leads to inside of them. */
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
