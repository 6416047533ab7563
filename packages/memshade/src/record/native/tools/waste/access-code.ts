import { FLAGS, INSTRUCTION_POINTER, type Instruction } from "../../../../code/x64/decode/index.ts";
import {
  GENERAL,
  type Place,
  place,
  RAX,
  RBP,
  RBX,
  RCX,
  RDI,
  RDX,
  type Register,
  RSI,
  RSP,
} from "../../../../code/x64/index.ts";
import { int32 } from "../../../../code/x64/operands.ts";
import { ByteWriter } from "../../../../ground/bytes/writer.ts";
import { RED_ZONE_BYTES } from "../../rewrite/insertion/red-zone.ts";
import type { Insertion } from "../../rewrite/plan.ts";
import type { AccessKind, Comparison } from "./accesses.ts";
import { type CommonCode, fillWords, putAddress, putFold, slot, word } from "./common-code.ts";
import { DEAD, SLOT_BYTES } from "./layout.ts";
import { putSame, stringRoutine } from "./routines/string-routine.ts";
import { pieces, putMarks, Snippet, type SnippetLabel } from "./snippet.ts";

const ALIGNMENT = 16;
const TRAP = 0xcc;
const PUSH_CONSTANT = 0x68;
/** Thread pointer of the process (`fs:0`). It lies above the stack of each thread except the first. */
const THREAD = { ...place(undefined, 0), thread: true };

/**
 * Routines for accesses that reach unread bytes. A file has one per number of bytes and set of registers, made on first
 * use. The caller has moved the stack pointer below the red zone; the routine restores it on return.
 */
export class ColdRoutines {
  readonly common: CommonCode;
  readonly #bytes = new ByteWriter(1 << 14);
  readonly #offsets = new Map<string, number>();

  constructor(common: CommonCode) {
    this.common = common;
    this.#bytes.bytes(common.bytes);
  }

  get bytes(): Uint8Array {
    return this.#bytes.view();
  }

  /**
   * Marks the words from `at` on as read, except invalid ones. `words` is overwritten; if undefined, a register is
   * saved.
   */
  read(bytes: number, at: Register, words: Register | undefined): number {
    return this.#routine(0, bytes, at, words, (snippet) => {
      const scratch = words ?? (at === RAX ? RCX : RAX);
      if (words === undefined) snippet.put("push", 8, scratch);
      putMarks(snippet.put.bind(snippet), { folded: at, bytes, scratch });
      const [mixed, out] = [snippet.label(), snippet.label()];
      if (isUniform(snippet, bytes, (from) => word(at, from), scratch, mixed)) {
        snippet.put("cmp", 2, word(at, 0), signed(this.common.invalidWord));
        snippet.shortJump(out, "e");
        fillWords(snippet, bytes, (from) => word(at, from), -1);
        snippet.shortJump(out);
        snippet.bind(mixed);
      }
      callEach(snippet, this.common.read, at, bytes);
      snippet.bind(out);
      if (words === undefined) snippet.put("pop", 8, scratch);
      leave(snippet);
    });
  }

  /**
   * Charges unread bytes from `at` on to the stores that wrote them. The zero flag is set if some are invalid. If the
   * stack is excluded, `words` holds the address stored to, and bytes on the stack are not charged. `words` is
   * overwritten.
   */
  overwrite(bytes: number, at: Register, words: Register): number {
    return this.#routine(1, bytes, at, words, (snippet) => {
      const [inStack, mixed] = [snippet.label(), snippet.label()];
      if (!this.common.isStackFollowed) {
        const isElsewhere = snippet.label();
        snippet.put("cmp", 8, words, RSP);
        snippet.shortJump(isElsewhere, "b");
        jumpIfStack(snippet, words, inStack);
        snippet.bind(isElsewhere);
      }
      if (isUniform(snippet, bytes, (from) => word(at, from), words, mixed)) {
        snippet.put("movzx.w", 4, words, word(at, 0));
        snippet.put("add", 8, place(undefined, DEAD, words, 8), bytes);
        snippet.put("cmp", 4, words, this.common.invalidWord);
        leave(snippet);
        snippet.bind(mixed);
      }
      callEach(snippet, this.common.overwrite, at, bytes);
      snippet.bind(inStack);
      leave(snippet);
    });
  }

  /** Sets the zero flag if an address above the stack pointer does not lie in the stack. */
  isStack(address: Register): number {
    return this.#routine(2, 0, address, undefined, (snippet) => {
      const inStack = snippet.label();
      jumpIfStack(snippet, address, inStack);
      snippet.put("cmp", 8, RSP, RSP);
      snippet.bind(inStack);
      leave(snippet);
    });
  }

  /** Returns the routine that runs after a string instruction of this form (`STRING` bits). */
  string(form: number): number {
    return this.#once(`string ${form}`, () => stringRoutine(form, this.common));
  }

  /** Returns the routine that runs before a string store and tests whether the store is silent. */
  same(form: number): number {
    return this.#once(`same ${form}`, (offset) => {
      const snippet = new Snippet();
      putSame(snippet, form);
      return snippet.finishAt(offset);
    });
  }

  #routine(
    kind: number,
    bytes: number,
    at: Register,
    words: Register | undefined,
    write: (snippet: Snippet) => void,
  ): number {
    return this.#once(`${kind} ${bytes} ${at.number} ${words?.number}`, (offset) => {
      const snippet = new Snippet();
      write(snippet);
      return snippet.finishAt(offset);
    });
  }

  #once(key: string, make: (offset: number) => Uint8Array | readonly number[]): number {
    const existing = this.#offsets.get(key);
    if (existing !== undefined) return existing;
    while (this.#bytes.length % ALIGNMENT !== 0) this.#bytes.u8(TRAP);
    const offset = this.#bytes.length;
    this.#bytes.bytes(make(offset));
    this.#offsets.set(key, offset);
    return offset;
  }
}

function jumpIfStack(snippet: Snippet, address: Register, inStack: SnippetLabel): void {
  // The stack of the first thread is above everything else. The stack of any other thread ends at its thread pointer.
  snippet.put("cmp", 8, THREAD, RSP);
  snippet.jump(inStack, "b");
  snippet.put("cmp", 8, THREAD, address);
  snippet.jump(inStack, "a");
}

/**
 * Falls through if all bytes have the same word, else jumps to `mixed`, at most 127 bytes away. Returns false, without
 * emitting code, for sizes that are not compared.
 */
function isUniform(
  snippet: Snippet,
  bytes: number,
  wordAt: (from: number) => Place,
  words: Register,
  mixed: SnippetLabel,
): boolean {
  if (bytes === 1) return true;
  if (bytes === 2) {
    snippet.put("movzx.w", 4, words, wordAt(0));
    snippet.put("cmp", 2, wordAt(1), words);
    snippet.shortJump(mixed, "ne");
    return true;
  }
  if (![4, 8, 16].includes(bytes)) return false;
  snippet.put("mov", 8, words, wordAt(0));
  for (let from = 4; from < bytes; from += 4) {
    snippet.put("cmp", 8, wordAt(from), words);
    snippet.shortJump(mixed, "ne");
  }
  snippet.put("ror", 8, words, 16);
  snippet.put("cmp", 8, wordAt(0), words);
  snippet.shortJump(mixed, "ne");
  return true;
}

function callEach(snippet: Snippet, routine: number, at: Register, bytes: number): void {
  snippet.put("push", 8, at);
  snippet.raw([PUSH_CONSTANT, ...int32(bytes)]);
  snippet.callCommon(routine);
}

function leave(snippet: Snippet): void {
  snippet.put("ret", 8, RED_ZONE_BYTES);
}

function signed(value: number): number {
  return (value << 16) >> 16;
}

export function skipRedZone(snippet: Snippet): void {
  snippet.put("lea", 8, RSP, place(RSP, -RED_ZONE_BYTES));
}

export interface Access {
  kind: AccessKind;
  instruction: Instruction;
  /** Offset of the following instruction in the old code. */
  next: number;
  comparison: Comparison;
  /** Addresses of the access's slots; 0 for a slot that the access does not have. */
  loadSlot: number;
  storeSlot: number;
  /** Registers and flags that are live before the access, as a mask. */
  live: number;
  /** Register that already holds the shadow offset of an earlier access nearby, if there is one. */
  knownWords?: KnownWords | undefined;
}

export interface KnownWords {
  register: Register;
  distance: number;
}

const COPY_BYTES = 64;

/**
 * Returns the code before an access, and the register that holds the shadow offset after it, if the register survives.
 */
export function accessCode(
  access: Access,
  before: number,
  routines: ColdRoutines,
): { insertion: Insertion; words: Register | undefined } {
  const snippet = new Snippet();
  const borrowed = new Borrowed(access.live, access.instruction, {
    wanted: access.knownWords?.register,
    needed: access.kind === "load" ? 1 : 2,
  });
  borrowed.begin(snippet);
  const writer = new AccessWriter(snippet, access, borrowed, routines);
  if (access.kind === "store") writer.store();
  else if (access.kind === "update") writer.update();
  else writer.load();
  borrowed.end(snippet);
  return { insertion: snippet.finish(before), words: borrowed.isFirstKept ? borrowed.first : undefined };
}

class AccessWriter {
  readonly #snippet: Snippet;
  readonly #access: Access;
  readonly #routines: ColdRoutines;
  readonly #bytes: number;
  readonly #borrowed: Borrowed;
  readonly #at: Register;
  /** Distance from the address whose shadow offset `#at` holds to the access, bytes. */
  readonly #distance: number;
  readonly #isKnown: boolean;

  constructor(snippet: Snippet, access: Access, borrowed: Borrowed, routines: ColdRoutines) {
    this.#isKnown = access.knownWords?.register === borrowed.first && borrowed.isFirstKept;
    this.#distance = this.#isKnown ? (access.knownWords?.distance ?? 0) : 0;
    this.#snippet = snippet;
    this.#access = access;
    this.#routines = routines;
    this.#bytes = access.instruction.size;
    this.#borrowed = borrowed;
    this.#at = borrowed.first;
  }

  /** Scratch register for words. For a load it exists only if a register is dead. */
  get #words(): Register {
    return this.#borrowed.second as Register;
  }

  /** Marks the bytes as read if any of them is unread. */
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
    const words = this.#borrowed.second;
    if (words !== undefined) this.#mark(words);
    // Most bytes that are read for the first time were written by a single store.
    if (words !== undefined && this.#bytes <= 8) {
      const wordAt = (from: number) => this.#word(from);
      if (isUniform(snippet, this.#bytes, wordAt, words, mixed)) {
        snippet.put("cmp", 2, wordAt(0), signed(this.#routines.common.invalidWord));
        snippet.jump(back, "e");
        fillWords(snippet, this.#bytes, wordAt, -1);
        snippet.jump(back);
        snippet.bind(mixed);
      }
    }
    this.#call(this.#routines.read(this.#bytes, this.#at, this.#borrowed.second));
    snippet.jump(back);
    snippet.continueIn("bytes");
  }

  /** The loaded bytes are overwritten at once, so the load is only counted. */
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
    this.#mark(this.#words);
    snippet.jump(back);
    snippet.continueIn("bytes");
  }

  #mark(scratch: Register): void {
    const put = this.#snippet.put.bind(this.#snippet);
    putMarks(put, { folded: this.#at, distance: this.#distance, bytes: this.#bytes, scratch });
  }

  /**
   * Charges unread bytes to the stores that wrote them. Compares memory with the new value, unless the bytes are
   * invalid.
   */
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
    if (!this.#routines.common.isStackFollowed) this.#address();
    this.#call(this.#routines.overwrite(this.#bytes, this.#at, this.#words));
    if (this.#access.comparison !== undefined) snippet.jump(leaveId, "e");
    snippet.jump(compare);
    snippet.continueIn("bytes");
  }

  #word(byte: number): Place {
    return word(this.#at, this.#distance + byte);
  }

  #fold(): void {
    if (this.#isKnown) return;
    const { instruction, next } = this.#access;
    putAddress(this.#snippet, instruction, next, this.#at, this.#borrowed.shift);
    putFold(this.#snippet, this.#at);
  }

  #address(): void {
    const { instruction, next } = this.#access;
    putAddress(this.#snippet, instruction, next, this.#words, this.#borrowed.shift);
  }

  #unlessRead(cold: SnippetLabel): void {
    const snippet = this.#snippet;
    const parts = pieces(this.#bytes);
    const whole = this.#borrowed.second === undefined ? [] : parts.filter(({ bytes }) => bytes === 4);
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

  #leaveId(): void {
    this.#snippet.put("mov", 8, this.#words, slot(this.#access.storeSlot));
    fillWords(this.#snippet, this.#bytes, (from) => this.#word(from), this.#words);
  }

  #compare(different: SnippetLabel): void {
    const { comparison, instruction, next } = this.#access;
    const snippet = this.#snippet;
    if (comparison === undefined) return;
    const silent = snippet.label();
    if (comparison.method === "compare") {
      const { bytes, displacementAt } = comparison;
      if (instruction.base === INSTRUCTION_POINTER)
        snippet.relative(bytes, displacementAt, next + instruction.displacement);
      else if (instruction.base === RSP.number)
        snippet.raw(shifted(bytes, instruction, this.#borrowed.shift));
      else snippet.raw(bytes);
      snippet.jump(silent, "e");
    } else this.#compareCopy(comparison, silent);
    snippet.continueIn("cold");
    snippet.bind(silent);
    this.#countSilent(different);
    snippet.continueIn("bytes");
  }

  /** Counts the store as silent, unless it hits the live stack and stack accesses are excluded. */
  #countSilent(done: SnippetLabel): void {
    const snippet = this.#snippet;
    const [count, isAbove] = [snippet.label(), snippet.label()];
    const isStackFollowed = this.#routines.common.isStackFollowed;
    if (!isStackFollowed) {
      this.#address();
      snippet.put("cmp", 8, this.#words, RSP);
      snippet.shortJump(isAbove, "ae");
    }
    snippet.bind(count);
    snippet.put("add", 8, slot(this.#access.storeSlot + SLOT_BYTES), 1);
    snippet.jump(done);
    if (isStackFollowed) return;
    snippet.bind(isAbove);
    skipRedZone(snippet);
    snippet.callCommon(this.#routines.isStack(this.#words));
    snippet.shortJump(count, "e");
    snippet.jump(done);
  }

  /** Repeats the store to the stack and compares the copy with memory, eight bytes at a time. */
  #compareCopy(repeat: { bytes: readonly number[]; readsFlags: boolean }, silent: SnippetLabel): void {
    const snippet = this.#snippet;
    const restore = snippet.label();
    const room = RED_ZONE_BYTES + COPY_BYTES;
    snippet.put("lea", 8, RSP, place(RSP, -room));
    // The flags were pushed last, and the repeated store reads them.
    if (repeat.readsFlags) {
      snippet.put("mov", 8, this.#words, place(RSP, room));
      snippet.put("push", 8, this.#words);
      snippet.put("popf", 8);
    }
    snippet.raw(repeat.bytes);
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
    const shift = base === RSP.number ? this.#borrowed.shift + room : 0;
    const at = {
      ...place(base < 0 ? undefined : GENERAL[base], displacement + from + shift),
      index: index < 0 ? undefined : GENERAL[index],
      scale: scale as 1,
    };
    this.#snippet.put("cmp", size, at, this.#words);
  }

  #call(routine: number): void {
    const snippet = this.#snippet;
    const distance = 2 * this.#distance;
    if (distance !== 0) snippet.put("lea", 8, this.#at, place(this.#at, distance));
    skipRedZone(snippet);
    snippet.callCommon(routine);
    if (distance !== 0) snippet.put("lea", 8, this.#at, place(this.#at, -distance));
  }
}

/** Re-encodes an instruction whose operand is relative to the stack pointer, which has moved down by `shift`. */
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

/** Preference order for scratch registers: caller-saved ones first. */
const SCRATCH = [RAX, RCX, RDX, RSI, RDI, ...GENERAL.slice(8, 12), RBX, RBP, ...GENERAL.slice(12)];

const PUSHED_BYTES = 8;

interface Needs {
  /** Register to use first, if it is dead. Otherwise a register that the instruction does not write is preferred. */
  wanted?: Register | undefined;
  needed: 1 | 2;
}

/** Scratch registers for one access: dead ones where possible, else saved on the stack. Live flags are saved too. */
class Borrowed {
  readonly first: Register;
  /** Defined if it is needed, or if a dead register was found. */
  readonly second: Register | undefined;
  readonly #saved: Register[] = [];
  readonly #areFlagsSaved: boolean;

  constructor(
    live: number,
    { reads, writes }: Pick<Instruction, "reads" | "writes">,
    { wanted, needed }: Needs,
  ) {
    const unavailable = live | reads;
    const lasting = unavailable | writes;
    const isDead = ({ number }: Register) => (unavailable & (1 << number)) === 0;
    const isWanted = wanted !== undefined && isDead(wanted);
    const first = isWanted ? wanted : (freeOf(lasting) ?? freeOf(unavailable));
    const second = first === undefined ? undefined : (freeOf(lasting, first) ?? freeOf(unavailable, first));
    this.first = first ?? this.#save(reads);
    this.second = second ?? (needed === 2 ? this.#save(reads | (1 << this.first.number)) : undefined);
    this.#areFlagsSaved = (live & FLAGS) !== 0;
  }

  #save(unavailable: number): Register {
    const register = freeOf(unavailable) as Register;
    this.#saved.push(register);
    return register;
  }

  get isFirstKept(): boolean {
    return !this.#saved.includes(this.first);
  }

  get isFree(): boolean {
    return this.#saved.length === 0 && !this.#areFlagsSaved;
  }

  /** Bytes by which the stack pointer is lowered while registers are saved. */
  get shift(): number {
    if (this.isFree) return 0;
    return RED_ZONE_BYTES + PUSHED_BYTES * (this.#saved.length + (this.#areFlagsSaved ? 1 : 0));
  }

  begin(snippet: Snippet): void {
    if (this.isFree) return;
    skipRedZone(snippet);
    for (const register of this.#saved) snippet.put("push", 8, register);
    if (this.#areFlagsSaved) snippet.put("pushf", 8);
  }

  end(snippet: Snippet): void {
    if (this.isFree) return;
    if (this.#areFlagsSaved) snippet.put("popf", 8);
    for (const register of [...this.#saved].reverse()) snippet.put("pop", 8, register);
    snippet.put("lea", 8, RSP, place(RSP, RED_ZONE_BYTES));
  }
}

function freeOf(unavailable: number, other?: Register): Register | undefined {
  return SCRATCH.find((register) => register !== other && (unavailable & (1 << register.number)) === 0);
}
