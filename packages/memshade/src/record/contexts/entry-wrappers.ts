import { type FuncType, I32 } from "../../code/wasm/index.ts";
import { sizeOfU32Leb, writeU32Leb } from "../../ground/bytes/leb128.ts";
import { BodyBuilder } from "../rewrite/write/body-builder.ts";
import { type FrameBase, placeCode } from "./frame-base.ts";
import { ENTRY_WORD, HOST_WORD, HostSite, STACK_FRAME_BYTES } from "./layout.ts";

const HAS_MEMORY_INDEX = 0x40;

/** What follows the calls: a shadow stack, or what a tool has in its place. */
export interface FollowedCalls {
  /** Memory of its host and entry words. */
  shadowMemory: number;
  /** Global with the place of whoever calls. */
  stackGlobal: number;
  frames: FrameBase;
  /** Whether entries of the host have frames of their own. */
  hostFrames?: boolean;
}

export interface WrapperSurroundings {
  /** Functions () → () that are told when the host comes in. */
  listeners: readonly number[];
  /** Global that a call by reference from inside has set, −1 where the functions are not called so. */
  inside: number;
  followed: readonly FollowedCalls[];
  /** Whether the functions can be called by reference too, so also from inside. */
  byReference: boolean;
  /** Whether the wrappers make way for what they call, which may leave the module by a tail call: chains must not grow a stack. */
  leaves: boolean;
  /** Whether exceptions of the host may pass through the module: then they are caught on their way and go on. */
  catchesHostExceptions: boolean;
  /** The program's stack pointer, and the function (its value at the entry) → () to call when an exception leaves; undefined: nobody wants to know. */
  left?: { readonly pointer: number; note(): number } | undefined;
  /** Global with a word that the functions take as one more parameter and give back as one more result, −1 where they do not. */
  carried: number;
  /** Index of a type without parameters and with these results. */
  resultsType(type: FuncType): number;
}

/**
 * Bodies that take the place of functions which can be called from outside. Whoever enters the module is announced to those
 * that listen, and starts where the host stands on the shadow stack. That is left as it was, also by an exception. A trap cannot be
 * caught, but while the module runs both words say what they said before it was entered.
 */
export class EntryWrappers {
  readonly #around: WrapperSurroundings;
  readonly #catches: boolean;
  /** Whether what a call out of the module has set is set again when the host goes back behind that call. */
  readonly #keepsInside: boolean;
  readonly #left: WrapperSurroundings["left"];
  /** What stands before and behind the index of the function called: the same for all functions of a type. */
  readonly #parts = new Map<FuncType, { before: Uint8Array; after: Uint8Array }>();

  constructor(around: WrapperSurroundings) {
    this.#around = around;
    const { catchesHostExceptions, leaves, followed, inside, byReference } = around;
    this.#keepsInside = inside >= 0 && !byReference && !leaves;
    this.#catches = catchesHostExceptions && !leaves && (followed.length > 0 || this.#keepsInside);
    this.#left = this.#catches ? around.left : undefined;
  }

  /** Body of the wrapper around function `target`, which was one of type `type`. */
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
    const { followed, inside, carried, leaves, resultsType } = this.#around;
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

  /** Tells those that listen of the host, but not of the module's own calls. */
  #announce(body: BodyBuilder): void {
    const { listeners, inside, byReference } = this.#around;
    if (inside >= 0 && byReference) body.op("global.get", inside).open("if");
    if (inside >= 0) body.i32(0).op("global.set", inside);
    if (inside >= 0 && byReference) body.op("else");
    for (const listener of listeners) body.op("call", listener);
    if (inside >= 0 && byReference) body.end();
  }

  /** Starts where the host stands, whose word the local `entry` keeps. */
  #start(body: BodyBuilder, calls: FollowedCalls, entry: number): void {
    const { shadowMemory, stackGlobal, frames } = calls;
    const load = (word: number): void => {
      body.instructions(placeCode(frames.hostWord));
      body.op("i32.load", 2 | HAS_MEMORY_INDEX, shadowMemory, word);
    };
    load(ENTRY_WORD);
    body.op("local.set", entry);
    // Through a reference the module calls itself too, having said so in the host word alone.
    if (this.#around.byReference) load(HOST_WORD);
    else body.op("local.get", entry);
    body.instructions(placeCode(frames.emptyStack)).op("i32.add").op("global.set", stackGlobal);
    if (calls.hostFrames === true && this.#around.byReference) {
      load(HOST_WORD);
      body.op("local.get", entry).op("i32.eq").open("if");
      this.#pushHostFrame(body, calls);
      body.end();
    } else if (calls.hostFrames === true) this.#pushHostFrame(body, calls);
    body.instructions(placeCode(frames.hostWord)).op("local.get", entry);
    body.op("i32.store", 2 | HAS_MEMORY_INDEX, shadowMemory, HOST_WORD);
  }

  /** Puts a frame for the host above the newest one, without a call site as long as nobody asks for it. */
  #pushHostFrame(body: BodyBuilder, { shadowMemory, stackGlobal }: FollowedCalls): void {
    body.op("global.get", stackGlobal).i64(HostSite.unsettled);
    body.op("i64.store", 3 | HAS_MEMORY_INDEX, shadowMemory, STACK_FRAME_BYTES);
    body.op("global.get", stackGlobal).i32(STACK_FRAME_BYTES).op("i32.add").op("global.set", stackGlobal);
  }

  #after(type: FuncType): Uint8Array {
    const { followed, carried } = this.#around;
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
    const { followed, inside } = this.#around;
    if (this.#keepsInside) body.op("local.get", params.length + followed.length).op("global.set", inside);
  }
}
