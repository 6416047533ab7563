import { type Place, place, RAX, RCX, type Register, RSP } from "../../../../../code/x64/index.ts";
import { int32 } from "../../../../../code/x64/operands.ts";
import { ByteWriter } from "../../../../../ground/bytes/writer.ts";
import { RED_ZONE_BYTES } from "../../../rewrite/insertion/red-zone.ts";
import type { CommonCode } from "../common-code.ts";
import { DEAD } from "../layout.ts";
import { fillWords, word } from "../places.ts";
import { Snippet, type SnippetLabel } from "../snippet.ts";
import { putSame, stringRoutine } from "./string-routine.ts";

const ALIGNMENT = 16;
const TRAP = 0xcc;
const PUSH_CONSTANT = 0x68;
/** A process's own pointer to what its thread has, which lies above the stack of all threads but the first. */
const THREAD = { ...place(undefined, 0), thread: true };

/**
 * What accesses do where not all was read before: one routine for all of a file that have the same number of bytes and the same registers,
 * made when the first of them asks for it. Each is called with the stack pointer below the red zone, and returns to where it was.
 */
export class ColdRoutines {
  readonly common: CommonCode;
  readonly #bytes = new ByteWriter(1 << 14);
  readonly #offsets = new Map<string, number>();

  constructor(common: CommonCode) {
    this.common = common;
    this.#bytes.bytes(common.bytes);
  }

  /** What is there once in a file: with all routines that were asked for so far. */
  get bytes(): Uint8Array {
    return this.#bytes.view();
  }

  /** Words from `at` on become read, but for nobody's. `words` is overwritten; if undefined, a register is saved for it. */
  read(bytes: number, at: Register, words: Register | undefined): number {
    return this.#routine(0, bytes, at, words, (snippet) => {
      const scratch = words ?? (at === RAX ? RCX : RAX);
      if (words === undefined) snippet.put("push", 8, scratch);
      const [mixed, out] = [snippet.label(), snippet.label()];
      if (isUniform(snippet, bytes, (from) => word(at, from), scratch, mixed)) {
        snippet.put("cmp", 2, word(at, 0), signed(this.common.nobodys));
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
   * Unread bytes from `at` on are charged to who wrote them. The zero flag: they are nobody's. Where the stack is left out, `words` has the
   * address that is stored to, and in the stack nobody is charged. It is overwritten.
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
        snippet.put("cmp", 4, words, this.common.nobodys);
        leave(snippet);
        snippet.bind(mixed);
      }
      callEach(snippet, this.common.overwrite, at, bytes);
      snippet.bind(inStack);
      leave(snippet);
    });
  }

  /** Of an address above the stack pointer. The zero flag: it does not lie in the stack. */
  isStack(address: Register): number {
    return this.#routine(2, 0, address, undefined, (snippet) => {
      const inStack = snippet.label();
      jumpIfStack(snippet, address, inStack);
      snippet.put("cmp", 8, RSP, RSP);
      snippet.bind(inStack);
      leave(snippet);
    });
  }

  /** What stands behind a string instruction, by what that is (`STRING`). */
  string(what: number): number {
    return this.#once(`string ${what}`, () => stringRoutine(what, this.common));
  }

  /** In front of one that writes: whether it writes what is there. */
  same(what: number): number {
    return this.#once(`same ${what}`, (offset) => {
      const snippet = new Snippet();
      putSame(snippet, what);
      return snippet.finishAt(offset);
    });
  }

  #routine(
    what: number,
    bytes: number,
    at: Register,
    words: Register | undefined,
    write: (snippet: Snippet) => void,
  ): number {
    return this.#once(`${what} ${bytes} ${at.number} ${words?.number}`, (offset) => {
      const snippet = new Snippet();
      write(snippet);
      return snippet.finishAt(offset);
    });
  }

  #once(key: string, make: (offset: number) => Uint8Array | readonly number[]): number {
    const known = this.#offsets.get(key);
    if (known !== undefined) return known;
    while (this.#bytes.length % ALIGNMENT !== 0) this.#bytes.u8(TRAP);
    const offset = this.#bytes.length;
    this.#bytes.bytes(make(offset));
    this.#offsets.set(key, offset);
    return offset;
  }
}

/** Jumps with the zero flag clear if an address above the stack pointer lies in the stack. */
function jumpIfStack(snippet: Snippet, address: Register, inStack: SnippetLabel): void {
  // The first thread's stack is above all else, that of another ends where its own data begin.
  snippet.put("cmp", 8, THREAD, RSP);
  snippet.jump(inStack, "b");
  snippet.put("cmp", 8, THREAD, address);
  snippet.jump(inStack, "a");
}

/** Goes on where all bytes have one word, else jumps at most 127 bytes far. False: sizes for which nobody looks. */
export function isUniform(
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

/** Calls a routine that looks at one word after the other. Keeps the flags that it returns. */
function callEach(snippet: Snippet, routine: number, at: Register, bytes: number): void {
  snippet.put("push", 8, at);
  snippet.raw([PUSH_CONSTANT, ...int32(bytes)]);
  snippet.callCommon(routine);
}

function leave(snippet: Snippet): void {
  snippet.put("ret", 8, RED_ZONE_BYTES);
}

/** A word as the signed number that an instruction has it as. */
export function signed(value: number): number {
  return (value << 16) >> 16;
}
