import { sizeOfU32Leb, writeU32Leb } from "../bytes/leb128.ts";
import { BodyBuilder } from "../rewrite/write/body-builder.ts";
import { type FuncType, I32 } from "../wasm/index.ts";
import { type FrameBase, placeCode } from "./frame-base.ts";
import { ENTRY_WORD, HOST_WORD } from "./layout.ts";

const HAS_MEMORY_INDEX = 0x40;

/** What follows the calls: a shadow stack, or what a tool has in its place. */
export interface FollowedCalls {
  /** Memory of its host and entry words. */
  shadowMemory: number;
  /** Global with the place of whoever calls. */
  stackGlobal: number;
  frames: FrameBase;
}

export interface WrapperSurroundings {
  followed: readonly FollowedCalls[];
  /** Whether the functions can be called by reference too, so also from inside. */
  byReference: boolean;
  /** Whether exceptions of the host may pass through the module: then they are caught on their way and go on. */
  catchesHostExceptions: boolean;
  /** Index of a type without parameters and with these results. */
  resultsType(type: FuncType): number;
}

/**
 * Bodies that take the place of functions which can be called from outside: whoever enters the module starts where the
 * host stands on the shadow stack, and leaves that as it was, also by an exception. A trap cannot be caught, but while the
 * module runs both words say what they said before it was entered.
 */
export class EntryWrappers {
  readonly #around: WrapperSurroundings;
  /** What stands before and behind the index of the function called: the same for all functions of a type. */
  readonly #parts = new Map<FuncType, { before: Uint8Array; after: Uint8Array }>();

  constructor(around: WrapperSurroundings) {
    this.#around = around;
  }

  /** Body of the wrapper around function `target` of type `type`. */
  body(target: number, type: FuncType): Uint8Array {
    let parts = this.#parts.get(type);
    if (parts === undefined) {
      parts = { before: this.#before(type), after: this.#after(type) };
      this.#parts.set(type, parts);
    }
    const { before, after } = parts;
    const bytes = new Uint8Array(before.length + sizeOfU32Leb(target) + after.length);
    bytes.set(before);
    bytes.set(after, writeU32Leb(bytes, before.length, target));
    return bytes;
  }

  #before(type: FuncType): Uint8Array {
    const { followed, catchesHostExceptions, byReference, resultsType } = this.#around;
    const body = new BodyBuilder(followed.map(() => I32));
    followed.forEach(({ shadowMemory, stackGlobal, frames }, i) => {
      const entry = type.params.length + i;
      const load = (word: number): void => {
        body
          .instructions(placeCode(frames.hostWord))
          .op("i32.load", 2 | HAS_MEMORY_INDEX, shadowMemory, word);
      };
      load(ENTRY_WORD);
      body.op("local.set", entry);
      // Through a reference the module calls itself too, having said so in the host word alone.
      if (byReference) load(HOST_WORD);
      else body.op("local.get", entry);
      body.instructions(placeCode(frames.emptyStack)).op("i32.add").op("global.set", stackGlobal);
      body.instructions(placeCode(frames.hostWord)).op("local.get", entry);
      body.op("i32.store", 2 | HAS_MEMORY_INDEX, shadowMemory, HOST_WORD);
    });
    if (catchesHostExceptions && type.results.length > 1) body.openTyped("try", resultsType(type));
    else if (catchesHostExceptions) body.open("try", type.results[0]);
    for (let i = 0; i < type.params.length; i++) body.op("local.get", i);
    return body.op("call").unfinished();
  }

  #after(type: FuncType): Uint8Array {
    const { followed, catchesHostExceptions, byReference } = this.#around;
    const body = new BodyBuilder();
    const restore = (): void => {
      followed.forEach(({ shadowMemory, frames }, i) => {
        for (const word of [HOST_WORD, ENTRY_WORD]) {
          body.instructions(placeCode(frames.hostWord)).op("local.get", type.params.length + i);
          body.op("i32.store", 2 | HAS_MEMORY_INDEX, shadowMemory, word);
        }
      });
    };
    if (catchesHostExceptions) {
      body.op("catch_all");
      restore();
      body.op("rethrow", 0).end();
    }
    // A tail call may have left the words changed; a call by reference puts them back itself.
    if (!byReference) restore();
    return body.end().code();
  }
}
