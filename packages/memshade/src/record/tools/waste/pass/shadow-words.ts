import { I32, type ValType } from "../../../../code/wasm/index.ts";
import * as Op from "../../../../code/wasm/op.generated.ts";
import type { SnippetSink } from "../../../rewrite/write/snippet-sink.ts";
import { GRANULE_SHIFT } from "../layout.ts";
import { ShadowIds } from "../memory-plan.ts";

const I64: ValType = 0x7e;
const V128: ValType = 0x7b;

/** Instructions that store the ids of an access from an i64 with four of them, by their bytes. */
const STORES_OF_FOUR = new Map([
  [2, Op.I64_STORE16],
  [4, Op.I64_STORE32],
  [8, Op.I64_STORE],
]);
/** Bytes of an id as a shift, and its bits. */
const ID_SHIFT = 1;
const ID_BITS = 16;
/** Id of invalid bytes as a signed number, whose encoding is shorter. */
const SIGNED_INVALID = ShadowIds.invalid - 2 ** ID_BITS;
/** Larger displacements are added to the address, since twice of them would not fit the shadow memory. */
const LONGEST_DISPLACEMENT = 1 << 24;

/** Address in a snippet: a local, or a constant if `local` is −1, plus a displacement. */
export interface SnippetAddress {
  local: number;
  constant: number;
  displacement: number;
  /** True if the local is an i64. The accessed address is below 4 GiB. */
  isWide: boolean;
}

/** Returns a local of a type for the duration of one snippet: the same one for the same number. */
export type Scratch = (type: ValType, number: number) => number;

export function pushAddress(sink: SnippetSink, address: SnippetAddress): void {
  if (address.local < 0) {
    sink.i32(address.constant + address.displacement);
    return;
  }
  pushHeld(sink, address);
  if (address.displacement === 0) return;
  sink.i32(address.displacement);
  sink.plain(Op.I32_ADD);
}

function pushHeld(sink: SnippetSink, { local, isWide }: SnippetAddress): void {
  sink.local(Op.LOCAL_GET, local);
  if (isWide) sink.plain(Op.I32_WRAP_I64);
}

/**
 * Shadow memory of an access of 1 to 16 bytes, which is 2 to 32 bytes long. Handled as one word of 16, 32 or 64 bits,
 * as two of 64, or as vectors, by what engines execute fastest.
 */
export class ShadowWords {
  readonly #memory: number;

  constructor(memory: number) {
    this.#memory = memory;
  }

  reserve(size: number, scratch: Scratch): void {
    const bytes = size << ID_SHIFT;
    scratch(I32, 1);
    if (bytes <= 4) scratch(I32, 0);
    else scratch(I64, 0);
    if (bytes === 16) scratch(I64, 1);
    if (bytes > 16) for (let at = 0; at < bytes; at += 16) scratch(V128, at >>> 4);
  }

  /** Pushes 1 if some byte is unread. Keeps the words in `scratch` if it is given. */
  pushUnread(sink: SnippetSink, size: number, address: SnippetAddress, scratch?: Scratch): void {
    const bytes = size << ID_SHIFT;
    const word = (op: number, at: number, type: ValType, number: number): void => {
      const offset = this.#push(sink, address);
      sink.access(op, 1, this.#memory, offset + at);
      if (scratch !== undefined) sink.local(Op.LOCAL_TEE, scratch(type, number));
    };
    if (bytes <= 4) {
      // The signed form is shorter; kept ids must be unsigned.
      const isKept = scratch !== undefined;
      word(bytes === 4 ? Op.I32_LOAD : isKept ? Op.I32_LOAD16_U : Op.I32_LOAD16_S, 0, I32, 0);
      sink.i32(bytes === 2 && isKept ? 0xffff : -1);
      sink.plain(Op.I32_NE);
    } else if (bytes <= 16) {
      word(Op.I64_LOAD, 0, I64, 0);
      if (bytes === 16) {
        word(Op.I64_LOAD, 8, I64, 1);
        sink.plain(Op.I64_AND);
      }
      sink.i64(-1n);
      sink.plain(Op.I64_NE);
    } else {
      for (let at = 0; at < bytes; at += 16) {
        word(Op.V128_LOAD, at, V128, at >>> 4);
        if (at > 0) sink.prefixed(Op.V128_AND);
      }
      sink.prefixed(Op.V128_NOT);
      sink.prefixed(Op.V128_ANY_TRUE);
    }
  }

  /**
   * Pushes 1 if no byte of the access is invalid. Requires that zero is not an invalid id. Makes no call, since a call
   * would cost the surrounding code its registers.
   */
  pushNoneInvalid(sink: SnippetSink, size: number, address: SnippetAddress): void {
    const bytes = size << ID_SHIFT;
    if (size === 1) {
      sink.access(Op.I32_LOAD16_S, 1, this.#memory, this.#push(sink, address));
      sink.i32(SIGNED_INVALID);
      sink.plain(Op.I32_NE);
      return;
    }
    const load = bytes === 4 ? Op.V128_LOAD32_SPLAT : bytes === 8 ? Op.V128_LOAD64_SPLAT : Op.V128_LOAD;
    for (let at = 0; at < bytes; at += 16) {
      const offset = this.#push(sink, address) + at;
      sink.access(load, 1, this.#memory, offset);
      sink.i32(SIGNED_INVALID);
      sink.prefixed(Op.I16X8_SPLAT);
      sink.prefixed(Op.I16X8_EQ);
      if (at > 0) sink.prefixed(Op.V128_OR);
    }
    sink.prefixed(Op.V128_ANY_TRUE);
    sink.plain(Op.I32_EQZ);
  }

  /** Pushes the id of the access's bytes, from the words in `scratch`, which must be equal. */
  pushId(sink: SnippetSink, size: number, scratch: Scratch): void {
    const bytes = size << ID_SHIFT;
    if (bytes <= 4) {
      sink.local(Op.LOCAL_GET, scratch(I32, 0));
      if (bytes === 4) {
        sink.i32(16);
        sink.plain(Op.I32_SHR_U);
      }
      return;
    }
    if (bytes > 16) {
      sink.local(Op.LOCAL_GET, scratch(V128, 0));
      sink.lane(Op.I64X2_EXTRACT_LANE, 0);
    } else sink.local(Op.LOCAL_GET, scratch(I64, 0));
    sink.i64(48n);
    sink.plain(Op.I64_SHR_U);
    sink.plain(Op.I32_WRAP_I64);
  }

  /** Pushes 1 if all words in `scratch` have one id. For accesses of more than one byte. */
  pushUniform(sink: SnippetSink, size: number, scratch: Scratch): void {
    const bytes = size << ID_SHIFT;
    const rotated = (type: ValType, op: number): void => {
      sink.local(Op.LOCAL_GET, scratch(type, 0));
      sink.local(Op.LOCAL_GET, scratch(type, 0));
      if (type === I32) sink.i32(ID_BITS);
      else sink.i64(BigInt(ID_BITS));
      sink.plain(type === I32 ? Op.I32_ROTL : Op.I64_ROTL);
      sink.plain(op);
    };
    if (bytes === 4) rotated(I32, Op.I32_EQ);
    else if (bytes === 8) rotated(I64, Op.I64_EQ);
    else if (bytes === 16) {
      rotated(I64, Op.I64_XOR);
      sink.local(Op.LOCAL_GET, scratch(I64, 0));
      sink.local(Op.LOCAL_GET, scratch(I64, 1));
      sink.plain(Op.I64_XOR);
      sink.plain(Op.I64_OR);
      sink.plain(Op.I64_EQZ);
    } else {
      sink.local(Op.LOCAL_GET, scratch(V128, 0));
      sink.lane(Op.I64X2_EXTRACT_LANE, 0);
      sink.local(Op.LOCAL_SET, scratch(I64, 0));
      rotated(I64, Op.I64_EQ);
      for (let at = 0; at < bytes; at += 16) {
        sink.local(Op.LOCAL_GET, scratch(V128, at >>> 4));
        sink.local(Op.LOCAL_GET, scratch(I64, 0));
        sink.prefixed(Op.I64X2_SPLAT);
        sink.prefixed(Op.V128_XOR);
        if (at > 0) sink.prefixed(Op.V128_OR);
      }
      sink.prefixed(Op.V128_ANY_TRUE);
      sink.plain(Op.I32_EQZ);
      sink.plain(Op.I32_AND);
    }
  }

  /** Sets the ids of all bytes of an access from an i64 local that has the id four times. */
  fill(sink: SnippetSink, size: number, ids: number, address: SnippetAddress): void {
    const bytes = size << ID_SHIFT;
    for (let at = 0; at < bytes; at += 16) {
      const offset = this.#push(sink, address) + at;
      sink.local(Op.LOCAL_GET, ids);
      if (bytes >= 16) sink.prefixed(Op.I64X2_SPLAT);
      sink.access(STORES_OF_FOUR.get(bytes) ?? Op.V128_STORE, 1, this.#memory, offset);
    }
  }

  fillRead(sink: SnippetSink, size: number, address: SnippetAddress): void {
    const bytes = size << ID_SHIFT;
    const step = Math.min(bytes, 8);
    for (let at = 0; at < bytes; at += step) {
      const offset = this.#push(sink, address) + at;
      if (bytes <= 4) sink.i32(-1);
      else sink.i64(-1n);
      const store = bytes === 2 ? Op.I32_STORE16 : bytes === 4 ? Op.I32_STORE : Op.I64_STORE;
      sink.access(store, 1, this.#memory, offset);
    }
  }

  /** Marks the granules of an access as read. `marks` is the address of the marks, 0 if they are not recorded. */
  markRead(sink: SnippetSink, size: number, address: SnippetAddress, marks: number): void {
    if (marks === 0) return;
    const mark = (distance: number, granules: number): void => {
      pushAddress(sink, address);
      if (distance > 0) {
        sink.i32(distance);
        sink.plain(Op.I32_ADD);
      }
      sink.i32(GRANULE_SHIFT);
      sink.plain(Op.I32_SHR_U);
      sink.i32(granules === 1 ? 1 : granules === 2 ? 0x0101 : 0x01010101);
      const store = granules === 1 ? Op.I32_STORE8 : granules === 2 ? Op.I32_STORE16 : Op.I32_STORE;
      sink.access(store, 0, this.#memory, marks);
    };
    mark(0, Math.max(1, size >>> GRANULE_SHIFT));
    // The access may begin in the middle of a granule.
    if (size > 1) mark(size - 1, 1);
  }

  /** Pushes the shadow address without a constant part, which it returns. */
  #push(sink: SnippetSink, address: SnippetAddress): number {
    if (address.local < 0) {
      sink.i32(0);
      return ((address.constant >>> 0) + address.displacement) * 2 ** ID_SHIFT;
    }
    const isShort = address.displacement < LONGEST_DISPLACEMENT;
    if (isShort) pushHeld(sink, address);
    else pushAddress(sink, address);
    sink.i32(ID_SHIFT);
    sink.plain(Op.I32_SHL);
    return isShort ? address.displacement << ID_SHIFT : 0;
  }
}
