import type { Insertion } from "../../../native/rewrite/emit.ts";
import { RED_ZONE_BYTES } from "../../../native/rewrite/insertion/red-zone.ts";
import { INSTRUCTION_POINTER, type Instruction } from "../../../x64/decode/index.ts";
import { GENERAL, type Place, place, type Register, RSP } from "../../../x64/index.ts";
import { int32 } from "../../../x64/operands.ts";
import type { AccessKind, Comparison } from "./accesses.ts";
import { Borrowed, skipRedZone } from "./borrowed.ts";
import type { CommonCode } from "./common-code.ts";
import { DEAD, SLOT_BYTES } from "./layout.ts";
import { pieces, putAddress, putFold, slot, word } from "./places.ts";
import { Snippet, type SnippetLabel } from "./snippet.ts";

/** One access, and what its code needs to know. */
export interface Access {
  kind: AccessKind;
  instruction: Instruction;
  /** Offset of the instruction behind it in the old code. */
  next: number;
  comparison: Comparison;
  /** Addresses of its slots, as far as it has them. */
  loadSlot: number;
  storeSlot: number;
  /** What must not change or be overwritten in front of it. */
  live: number;
  /** Where its words are known to be, from the code of an access before it. */
  known?: KnownWords | undefined;
}

/** A register with the place of some address in the shadow. */
export interface KnownWords {
  register: Register;
  /** How far from that address the access is, bytes. */
  distance: number;
}

/** Room for a vector that is stored a second time. */
const COPY_BYTES = 64;
const PUSHED_BYTES = 8;
const PUSH_CONSTANT = 0x68;
/** A process's own pointer to what its thread has, which lies above the stack of all threads but the first. */
const THREAD = { ...place(undefined, 0), thread: true };

/** The code in front of an access, and the register that has the place of its words behind it, if one has. */
export function accessCode(
  access: Access,
  before: number,
  common: CommonCode,
): { insertion: Insertion; words: Register | undefined } {
  const snippet = new Snippet();
  const borrowed = new Borrowed(access.live, access.instruction, access.known?.register);
  borrowed.begin(snippet);
  const writer = new AccessWriter(snippet, access, borrowed, common);
  if (access.kind === "store") writer.store();
  else if (access.kind === "update") writer.update();
  else writer.load();
  borrowed.end(snippet);
  return { insertion: snippet.finish(before), words: borrowed.isFirstKept ? borrowed.first : undefined };
}

class AccessWriter {
  readonly #snippet: Snippet;
  readonly #access: Access;
  readonly #common: CommonCode;
  readonly #bytes: number;
  /** Holds the distance in the shadow; the other one, what is there. */
  readonly #at: Register;
  readonly #words: Register;
  /** Of the access's words, from the place that the first one has. */
  readonly #distance: number;
  readonly #isKnown: boolean;
  /** How far below its place the stack pointer is. */
  readonly #shift: number;

  constructor(snippet: Snippet, access: Access, borrowed: Borrowed, common: CommonCode) {
    this.#isKnown = access.known?.register === borrowed.first && borrowed.isFirstKept;
    this.#distance = this.#isKnown ? (access.known?.distance ?? 0) : 0;
    this.#snippet = snippet;
    this.#access = access;
    this.#common = common;
    this.#bytes = access.instruction.size;
    this.#at = borrowed.first;
    this.#words = borrowed.second;
    this.#shift = borrowed.shift;
  }

  /** Whether all was read before decides; if not, what was not is. */
  load(): void {
    const snippet = this.#snippet;
    const cold = snippet.label();
    const back = snippet.label();
    this.#fold();
    this.#unlessRead(cold);
    snippet.bind(back);
    snippet.continueIn("cold");
    snippet.bind(cold);
    snippet.put("add", 8, slot(this.#access.loadSlot), 1);
    const mixed = snippet.label();
    if (this.#isUniform(mixed)) {
      snippet.put("cmp", 2, this.#word(0), signed(this.#common.nobodys));
      snippet.jump(back, "e");
      this.#fill(-1);
      snippet.jump(back);
      snippet.bind(mixed);
    }
    this.#call(this.#common.read);
    snippet.jump(back);
    snippet.continueIn("bytes");
  }

  /** What it loads is overwritten at once: it only counts. */
  update(): void {
    const snippet = this.#snippet;
    const cold = snippet.label();
    const back = snippet.label();
    this.#fold();
    this.#unlessRead(cold);
    snippet.bind(back);
    this.#leaveId();
    snippet.continueIn("cold");
    snippet.bind(cold);
    snippet.put("add", 8, slot(this.#access.loadSlot), 1);
    snippet.jump(back);
    snippet.continueIn("bytes");
  }

  /** Unread bytes are charged to who wrote them; what is there is compared with what comes, unless it is nobody's. */
  store(): void {
    const snippet = this.#snippet;
    const cold = snippet.label();
    const compare = snippet.label();
    const leaveId = snippet.label();
    this.#fold();
    this.#unlessRead(cold);
    snippet.bind(compare);
    this.#compare(leaveId);
    snippet.bind(leaveId);
    this.#leaveId();
    snippet.continueIn("cold");
    snippet.bind(cold);
    this.#ifStack(compare);
    const mixed = snippet.label();
    if (this.#isUniform(mixed)) {
      snippet.put("movzx.w", 4, this.#words, this.#word(0));
      snippet.put("add", 8, place(undefined, DEAD, this.#words, 8), this.#bytes);
      snippet.put("cmp", 4, this.#words, this.#common.nobodys);
      snippet.jump(leaveId, "e");
      snippet.jump(compare);
      snippet.bind(mixed);
    }
    this.#call(this.#common.overwrite);
    snippet.jump(leaveId, "e");
    snippet.jump(compare);
    snippet.continueIn("bytes");
  }

  #word(byte: number): Place {
    return word(this.#at, this.#distance + byte);
  }

  #fold(): void {
    if (this.#isKnown) return;
    const { instruction, next } = this.#access;
    putAddress(this.#snippet, instruction, next, this.#at, this.#shift);
    putFold(this.#snippet, this.#at);
  }

  /** Jumps if some byte was not read since it was written. */
  #unlessRead(cold: SnippetLabel): void {
    const snippet = this.#snippet;
    const parts = pieces(this.#bytes);
    const whole = parts.filter(({ bytes }) => bytes === 4);
    if (whole.length > 1) {
      whole.forEach(({ from }, i) => {
        snippet.put(i === 0 ? "mov" : "and", 8, this.#words, this.#word(from));
      });
      snippet.put("cmp", 8, this.#words, -1);
      snippet.jump(cold, "ne");
    }
    for (const { from, bytes } of parts) {
      if (whole.length > 1 && bytes === 4) continue;
      snippet.put("cmp", (2 * bytes) as 2 | 4 | 8, this.#word(from), -1);
      snippet.jump(cold, "ne");
    }
  }

  /** Goes on where all bytes have one word, else jumps. False: sizes for which nobody looks. */
  #isUniform(mixed: SnippetLabel): boolean {
    const snippet = this.#snippet;
    const bytes = this.#bytes;
    if (bytes === 1) return true;
    if (bytes === 2) {
      snippet.put("movzx.w", 4, this.#words, this.#word(0));
      snippet.put("cmp", 2, this.#word(1), this.#words);
      snippet.jump(mixed, "ne");
      return true;
    }
    if (![4, 8, 16].includes(bytes)) return false;
    snippet.put("mov", 8, this.#words, this.#word(0));
    for (let from = 4; from < bytes; from += 4) {
      snippet.put("cmp", 8, this.#word(from), this.#words);
      snippet.jump(mixed, "ne");
    }
    snippet.put("ror", 8, this.#words, 16);
    snippet.put("cmp", 8, this.#word(0), this.#words);
    snippet.jump(mixed, "ne");
    return true;
  }

  /** The same constant for the words of all bytes. */
  #fill(value: number): void {
    for (const { from, bytes } of pieces(this.#bytes))
      this.#snippet.put("mov", (2 * bytes) as 2 | 4 | 8, this.#word(from), value);
  }

  /** The store's id for all bytes. */
  #leaveId(): void {
    this.#snippet.put("mov", 8, this.#words, slot(this.#access.storeSlot));
    for (const { from, bytes } of pieces(this.#bytes))
      this.#snippet.put("mov", (2 * bytes) as 2 | 4 | 8, this.#word(from), this.#words);
  }

  /** Where the address lies in the stack that is in use, nobody is charged. */
  #ifStack(to: SnippetLabel): void {
    if (this.#common.isStackFollowed) return;
    const snippet = this.#snippet;
    const isElsewhere = snippet.label();
    putAddress(snippet, this.#access.instruction, this.#access.next, this.#words, this.#shift);
    snippet.put("cmp", 8, this.#words, RSP);
    snippet.shortJump(isElsewhere, "b");
    // The first thread's stack is above all else, that of another ends where its own data begin.
    snippet.put("cmp", 8, THREAD, RSP);
    snippet.jump(to, "b");
    snippet.put("cmp", 8, THREAD, this.#words);
    snippet.jump(to, "a");
    snippet.bind(isElsewhere);
  }

  #compare(different: SnippetLabel): void {
    const { comparison, instruction, next } = this.#access;
    const snippet = this.#snippet;
    if (comparison === undefined) return;
    const silent = snippet.label();
    if (comparison.how === "compare") {
      const { bytes, displacementAt } = comparison;
      if (instruction.base === INSTRUCTION_POINTER)
        snippet.relative(bytes, displacementAt, next + instruction.displacement);
      else if (instruction.base === RSP.number) snippet.raw(shifted(bytes, instruction, this.#shift));
      else snippet.raw(bytes);
      snippet.jump(silent, "e");
    } else this.#compareCopy(comparison.bytes, silent);
    snippet.continueIn("cold");
    snippet.bind(silent);
    this.#ifStack(different);
    snippet.put("add", 8, slot(this.#access.storeSlot + SLOT_BYTES), 1);
    snippet.jump(different);
    snippet.continueIn("bytes");
  }

  /** Stores to the stack what the store is about to write, and compares word by word. */
  #compareCopy(repeat: readonly number[], silent: SnippetLabel): void {
    const snippet = this.#snippet;
    const restore = snippet.label();
    const room = RED_ZONE_BYTES + COPY_BYTES;
    snippet.put("lea", 8, RSP, place(RSP, -room));
    snippet.raw(repeat);
    for (let from = 0; from < this.#bytes; from += 8) {
      const size = Math.min(8, this.#bytes - from) as 1 | 2 | 4 | 8;
      snippet.put("mov", size, this.#words, place(RSP, from));
      this.#comparePart(from, size, room);
      snippet.jump(restore, "ne");
    }
    snippet.put("lea", 8, RSP, place(RSP, room));
    snippet.jump(silent);
    snippet.bind(restore);
    snippet.put("lea", 8, RSP, place(RSP, room));
  }

  /** `cmp`: a part of the memory that is stored to, with the register that has what comes. */
  #comparePart(from: number, size: 1 | 2 | 4 | 8, room: number): void {
    const { instruction, next } = this.#access;
    const { base, index, scale, displacement } = instruction;
    if (base === INSTRUCTION_POINTER) {
      const high = (this.#words.number >> 3) << 2;
      const prefix = [...(size === 2 ? [0x66] : []), (size === 8 ? 0x48 : 0x40) | high];
      const bytes = [...prefix, size === 1 ? 0x38 : 0x39, ((this.#words.number & 7) << 3) | 5, 0, 0, 0, 0];
      this.#snippet.relative(bytes, prefix.length + 2, next + displacement + from);
      return;
    }
    const shift = base === RSP.number ? this.#shift + room : 0;
    const at = {
      ...place(base < 0 ? undefined : GENERAL[base], displacement + from + shift),
      index: index < 0 ? undefined : GENERAL[index],
      scale: scale as 1,
    };
    this.#snippet.put("cmp", size, at, this.#words);
  }

  /** Calls a routine with the place in the shadow and the number of bytes. Keeps the flags that it returns. */
  #call(routine: number): void {
    const snippet = this.#snippet;
    skipRedZone(snippet);
    if (this.#distance !== 0) snippet.put("lea", 8, this.#words, place(this.#at, 2 * this.#distance));
    snippet.put("push", 8, this.#distance === 0 ? this.#at : this.#words);
    snippet.raw([PUSH_CONSTANT, ...int32(this.#bytes)]);
    snippet.callCommon(routine);
    snippet.put("lea", 8, RSP, place(RSP, RED_ZONE_BYTES + 2 * PUSHED_BYTES));
  }
}

/** An instruction whose place is relative to the stack pointer, as that is further below. */
function shifted(bytes: readonly number[], { modRmAt, displacement }: Instruction, shift: number): number[] {
  const mode = bytes[modRmAt] >> 6;
  const displacementBytes = mode === 0 ? 0 : mode === 1 ? 1 : 4;
  return [
    ...bytes.slice(0, modRmAt),
    (bytes[modRmAt] & 0x3f) | 0x80,
    bytes[modRmAt + 1],
    ...int32(displacement + shift),
    ...bytes.slice(modRmAt + 2 + displacementBytes),
  ];
}

/** A word as the signed number that an instruction has it as. */
function signed(value: number): number {
  return (value << 16) >> 16;
}
