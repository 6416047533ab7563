import { type FuncType, I32 } from "../../code/wasm/index.ts";
import { entryOf } from "../../ground/bytes/entries.ts";
import { sizeOfU32Leb, writeU32Leb } from "../../ground/bytes/leb128.ts";
import { BodyBuilder } from "../rewrite/write/body-builder.ts";
import { type FrameBase, placeCode } from "./frame-base.ts";
import { ENTRY_WORD, HOST_WORD, HostSite, STACK_FRAME_BYTES } from "./layout.ts";

const HAS_MEMORY_INDEX = 0x40;

/** A way to follow calls: a shadow stack, or the frames of a tool. */
export interface FollowedCalls {
  /** Memory of its host and entry words. */
  shadowMemory: number;
  /** Global with the caller's frame or slot. */
  stackGlobal: number;
  frames: FrameBase;
  /** True if each entry from the host pushes a frame of its own. */
  hostFrames?: boolean;
}

export interface WrapperSurroundings {
  /** Functions () → () to call when the host enters. */
  listeners: readonly number[];
  /** Global that is set before calls by reference inside the module; −1 if the functions are not called that way. */
  inside: number;
  followed: readonly FollowedCalls[];
  /** True if the functions can be called by reference, and so also from inside. */
  byReference: boolean;
  /**
   * True if the wrapper must call by a tail call, because the function may leave the module by one. Otherwise chains of
   * tail calls would grow the stack.
   */
  leaves: boolean;
  /** True if exceptions of the host may pass through the module. The wrapper then catches and rethrows them. */
  catchesHostExceptions: boolean;
  /** The program's stack pointer, and the function (its value at the entry) → () to call when an exception leaves; undefined if no tool needs them. */
  left?: { readonly pointer: number; note(): number } | undefined;
  /**
   * Global with a word that the functions take as a further parameter and return as a further result; −1 if there is
   * none.
   */
  carried: number;
  resultsType(type: FuncType): number;
}

/**
 * Bodies that replace functions that can be called from outside. A wrapper calls the listeners, starts at the host's
 * position on the shadow stack, and restores the words afterwards, also after an exception. A trap cannot be caught.
 * While the module runs, however, both words hold their values from before the entry.
 */
export class EntryWrappers {
  readonly #surroundings: WrapperSurroundings;
  readonly #catches: boolean;
  /**
   * True if the wrapper restores `inside` when it returns. A call out of the module may have set it, and checks it
   * afterwards.
   */
  readonly #keepsInside: boolean;
  readonly #left: WrapperSurroundings["left"];
  /** Code before and after the index of the called function, by type. */
  readonly #parts = new Map<FuncType, { before: Uint8Array; after: Uint8Array }>();

  constructor(surroundings: WrapperSurroundings) {
    this.#surroundings = surroundings;
    const { catchesHostExceptions, leaves, followed, inside, byReference } = surroundings;
    this.#keepsInside = inside >= 0 && !byReference && !leaves;
    this.#catches = catchesHostExceptions && !leaves && (followed.length > 0 || this.#keepsInside);
    this.#left = this.#catches ? surroundings.left : undefined;
  }

  /** Returns the body of the wrapper around `target`. `type` is the type without the carried word. */
  body(target: number, type: FuncType): Uint8Array {
    const parts = entryOf(this.#parts, type, () => ({
      before: this.#before(type),
      after: this.#after(type),
    }));
    const { before, after } = parts;
    const bytes = new Uint8Array(before.length + sizeOfU32Leb(target) + after.length);
    bytes.set(before);
    bytes.set(after, writeU32Leb(bytes, before.length, target));
    return bytes;
  }

  #before(type: FuncType): Uint8Array {
    const { followed, inside, carried, leaves, resultsType } = this.#surroundings;
    const locals = followed.length + (this.#keepsInside ? 1 : 0) + (this.#left === undefined ? 0 : 1);
    const body = new BodyBuilder(Array<number>(locals).fill(I32));
    if (this.#keepsInside)
      body.op("global.get", inside).op("local.set", type.params.length + followed.length);
    if (this.#left !== undefined)
      body.op("global.get", this.#left.pointer).op("local.set", type.params.length + locals - 1);
    this.#announce(body);
    followed.forEach((calls, i) => {
      this.#start(body, calls, type.params.length + i);
    });
    if (this.#catches && type.results.length > 1) body.openTyped("try", resultsType(type));
    else if (this.#catches) body.open("try", type.results[0]);
    for (let i = 0; i < type.params.length; i++) body.op("local.get", i);
    if (carried >= 0) body.op("global.get", carried);
    return body.op(leaves ? "return_call" : "call").unfinished();
  }

  /** Calls the listeners for entries from the host, but not for the module's own calls. */
  #announce(body: BodyBuilder): void {
    const { listeners, inside, byReference } = this.#surroundings;
    if (inside >= 0 && byReference) body.op("global.get", inside).open("if");
    if (inside >= 0) body.i32(0).op("global.set", inside);
    if (inside >= 0 && byReference) body.op("else");
    for (const listener of listeners) body.op("call", listener);
    if (inside >= 0 && byReference) body.end();
  }

  /** Starts at the host's position. The local `entry` keeps the entry word. */
  #start(body: BodyBuilder, calls: FollowedCalls, entry: number): void {
    const { shadowMemory, stackGlobal, frames } = calls;
    const load = (word: number): void => {
      body.instructions(placeCode(frames.hostWord));
      body.op("i32.load", 2 | HAS_MEMORY_INDEX, shadowMemory, word);
    };
    load(ENTRY_WORD);
    body.op("local.set", entry);
    // The module also calls itself through a reference; such a call sets only the host word.
    if (this.#surroundings.byReference) load(HOST_WORD);
    else body.op("local.get", entry);
    body.instructions(placeCode(frames.emptyStack)).op("i32.add").op("global.set", stackGlobal);
    if (calls.hostFrames === true && this.#surroundings.byReference) {
      load(HOST_WORD);
      body.op("local.get", entry).op("i32.eq").open("if");
      this.#pushHostFrame(body, calls);
      body.end();
    } else if (calls.hostFrames === true) this.#pushHostFrame(body, calls);
    body.instructions(placeCode(frames.hostWord)).op("local.get", entry);
    body.op("i32.store", 2 | HAS_MEMORY_INDEX, shadowMemory, HOST_WORD);
  }

  /** Pushes a frame for the host. Its call site is set only when it is needed. */
  #pushHostFrame(body: BodyBuilder, { shadowMemory, stackGlobal }: FollowedCalls): void {
    body.op("global.get", stackGlobal).i64(HostSite.unsettled);
    body.op("i64.store", 3 | HAS_MEMORY_INDEX, shadowMemory, STACK_FRAME_BYTES);
    body.op("global.get", stackGlobal).i32(STACK_FRAME_BYTES).op("i32.add").op("global.set", stackGlobal);
  }

  #after(type: FuncType): Uint8Array {
    const { followed, carried } = this.#surroundings;
    const body = new BodyBuilder();
    if (carried >= 0) body.op("global.set", carried);
    if (this.#catches) {
      body.op("catch_all");
      followed.forEach(({ shadowMemory, frames }, i) => {
        for (const word of [HOST_WORD, ENTRY_WORD]) {
          body.instructions(placeCode(frames.hostWord)).op("local.get", type.params.length + i);
          body.op("i32.store", 2 | HAS_MEMORY_INDEX, shadowMemory, word);
        }
      });
      this.#putBackInside(body, type);
      if (this.#left !== undefined) {
        const pointer = type.params.length + followed.length + (this.#keepsInside ? 1 : 0);
        body.op("local.get", pointer).op("call", this.#left.note());
      }
      body.op("rethrow", 0).end();
    }
    this.#putBackInside(body, type);
    return body.end().code();
  }

  #putBackInside(body: BodyBuilder, { params }: FuncType): void {
    const { followed, inside } = this.#surroundings;
    if (this.#keepsInside) body.op("local.get", params.length + followed.length).op("global.set", inside);
  }
}
