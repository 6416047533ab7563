import { type FuncType, I32, I64, type OpcodeName } from "../../code/wasm/index.ts";
import type { InlineFunction, RuntimeFunctions } from "../rewrite/link.ts";
import { BodyBuilder } from "../rewrite/write/body-builder.ts";
import type { AllocationListeners } from "./allocation-listeners.ts";
import type { AllocatorFunction } from "./find/plan.ts";

export interface HookSurroundings {
  /** Index of the function's original body. */
  original: number;
  /** Offset of that body in the code section: stands for the context of a call that came from outside. */
  self: number;
  /** Memory of the program, for results that are stored there. */
  memory: number;
  /** A tool that records blocks with their contexts, if there is one. */
  recorder: BlockRecorder | undefined;
  /** For a busy function: gives out the index of one more function, with its type and its name in stack traces. */
  addTwin?: ((body: () => Uint8Array) => number) | undefined;
  /** Tools that are told too, behind it. */
  listeners: readonly AllocationListeners[];
  /** The function is one of `AllocatorPlan.renewing`. */
  renews?: boolean;
}

/** A tool that is told of blocks, and in which frame of its shadow stack they were asked for. */
export interface BlockRecorder {
  /** Global with the address of the newest frame. */
  stackGlobal: number;
  /**
   * By name: `allocatedRarely` (address, bytes, frame, self), `reallocated` and `renewed` (old address, new address, bytes, frame, self)
   * and `releasedRarely` (address), where `self` is a code offset that stands for a call from outside. Addresses may be 0.
   */
  functions: RuntimeFunctions;
  /** Functions that lock and unlock the tables, where several instances share them. */
  threads?: { lock: number; unlock: number } | undefined;
  /** The common path of `allocated` and `released`, to be written out in place of a call. */
  inlined?: InlineFunction | undefined;
}

/** Functions whose blocks are zero. */
export const ZEROES: ReadonlySet<AllocatorFunction["role"]> = new Set([
  "calloc",
  "rust_alloc_zeroed",
  "as_new",
]);

/**
 * Body that takes the place of an allocation function: calls the original and tells the tools what happened.
 * The caller's frame is the newest on the shadow stack, so its position is read before anything else runs.
 */
export function hookBody(hooked: AllocatorFunction, type: FuncType, around: HookSurroundings): Uint8Array {
  const hook = new Hook(hooked, type, around);
  return hooked.kind === "release" ? hook.release() : hook.allocate();
}

/** Writes the body of one hook. */
class Hook {
  readonly #hooked: AllocatorFunction;
  readonly #type: FuncType;
  readonly #around: HookSurroundings;
  /** Locals behind the parameters: the original's result, the newest frame, and an address of 64 bits. */
  readonly #result: number;
  readonly #frame: number;
  readonly #wide: number;
  /** What is written out in place of a call of the recorder. */
  readonly #inlined: ReturnType<InlineFunction> | undefined;
  readonly #body: BodyBuilder;

  constructor(hooked: AllocatorFunction, type: FuncType, around: HookSurroundings) {
    this.#hooked = hooked;
    this.#type = type;
    this.#around = around;
    this.#result = type.params.length;
    this.#frame = this.#result + 1;
    this.#wide = this.#frame + 1;
    const { recorder, addTwin } = around;
    const isBusy = addTwin !== undefined && hooked.kind !== "reallocate" && recorder?.threads === undefined;
    const name = hooked.kind === "release" ? "released" : "allocated";
    this.#inlined = isBusy ? recorder?.inlined?.(name, this.#wide + 1) : undefined;
    this.#body = new BodyBuilder([type.results[0] ?? I32, I32, I64, ...(this.#inlined?.locals ?? [])]);
  }

  release(): Uint8Array {
    const { recorder, addTwin } = this.#around;
    if (this.#inlined !== undefined && addTwin !== undefined)
      return this.#releaseInline(this.#inlined.code, addTwin);
    if (recorder !== undefined) {
      this.#lock(recorder);
      this.#address(this.#hooked.pointerParam);
      this.#body.op("call", recorder.functions.get("releasedRarely") as number);
      this.#unlock(recorder);
    }
    this.#tellReleased();
    this.#callOriginal("return_call");
    return this.#body.finish();
  }

  /** Nothing is kept over a call, so the whole hook needs no more than registers. */
  #releaseInline(code: Uint8Array, addTwin: (body: () => Uint8Array) => number): Uint8Array {
    const around = { ...this.#around, addTwin: undefined };
    const otherwise = addTwin(() => hookBody(this.#hooked, this.#type, around));
    this.#body.open("block");
    this.#address(this.#hooked.pointerParam);
    this.#body.instructions(code);
    this.#tellReleased();
    this.#callOriginal("return_call");
    this.#body.end();
    this.#params();
    return this.#body.op("return_call", otherwise).finish();
  }

  allocate(): Uint8Array {
    const { recorder, listeners, renews = false } = this.#around;
    const body = this.#body;
    const reallocates = this.#hooked.kind === "reallocate";
    if (recorder !== undefined) body.op("global.get", recorder.stackGlobal).op("local.set", this.#frame);
    // What a reallocation gives back, another thread may get before anybody here is told. What renews has hooked functions allocate.
    const isLocked = reallocates && !renews;
    if (isLocked) this.#lock(recorder);
    for (const { requested } of listeners) if (requested !== undefined) body.op("call", requested);
    this.#callOriginal("call");
    body.op("local.set", this.#result);
    if (recorder !== undefined) {
      if (!isLocked) this.#lock(recorder);
      this.#record(recorder, reallocates);
      this.#unlock(recorder);
    }
    for (const listener of listeners) this.#tellAllocated(listener, reallocates);
    return body.op("local.get", this.#result).finish();
  }

  #record({ functions }: BlockRecorder, reallocates: boolean): void {
    const body = this.#body;
    if (this.#inlined !== undefined) {
      body.open("block").open("block");
      this.#block();
      this.#size();
      body.op("local.get", this.#frame).instructions(this.#inlined.code).op("br", 1).end();
    }
    if (reallocates) this.#address(this.#hooked.pointerParam);
    this.#block();
    this.#size();
    body.op("local.get", this.#frame).i32(this.#around.self);
    const resized = this.#around.renews === true ? "renewed" : "reallocated";
    body.op("call", functions.get(reallocates ? resized : "allocatedRarely") as number);
    if (this.#inlined !== undefined) body.end();
  }

  #tellAllocated(listener: AllocationListeners, reallocates: boolean): void {
    const { role, index, pointerParam } = this.#hooked;
    if (reallocates) this.#address(pointerParam);
    this.#block();
    this.#size();
    if (!reallocates) this.#body.i32(ZEROES.has(role) ? listener.zeroedBy(index) : 0);
    this.#body.op("call", reallocates ? listener.reallocated : listener.allocated);
  }

  #tellReleased(): void {
    for (const { released } of this.#around.listeners) {
      this.#address(this.#hooked.pointerParam);
      this.#body.op("call", released);
    }
  }

  #lock(recorder: BlockRecorder | undefined): void {
    if (recorder?.threads !== undefined) this.#body.op("call", recorder.threads.lock);
  }

  #unlock({ threads }: BlockRecorder): void {
    if (threads !== undefined) this.#body.op("call", threads.unlock);
  }

  #params(): void {
    for (let i = 0; i < this.#type.params.length; i++) this.#body.op("local.get", i);
  }

  #callOriginal(call: "call" | "return_call"): void {
    this.#params();
    this.#body.op(call, this.#around.original);
  }

  /** Pushes the address of the block that is handed out, 0 if there is none. */
  #block(): void {
    const { outPointerParam } = this.#hooked;
    const body = this.#body;
    if (outPointerParam < 0) {
      this.#pointer(this.#result, this.#type.results[0]);
      return;
    }
    // The address was stored; a result other than 0 says that it was not.
    const isWide = this.#type.params[outPointerParam] === I64;
    body.op("local.get", this.#result).op("i32.eqz").open("if", I32);
    body.op("local.get", outPointerParam);
    loadAddress(body, isWide ? "i64.load" : "i32.load", this.#around.memory);
    asAddress(body, isWide ? I64 : I32, this.#wide);
    body.op("else").i32(0).end();
  }

  #address(param: number): void {
    this.#pointer(param, this.#type.params[param]);
  }

  /** Pushes the address of the block that a local of a type points to. */
  #pointer(local: number, type: number): void {
    const push = (): void => {
      this.#body.op("local.get", local);
      asAddress(this.#body, type, this.#wide);
    };
    push();
    addPointerOffset(this.#body, this.#hooked.pointerOffset, push);
  }

  #size(): void {
    const { sizeParam, countParam, sizeOffset } = this.#hooked;
    const body = this.#body;
    const type = this.#type.params[sizeParam];
    body.op("local.get", sizeParam);
    if (countParam >= 0) body.op("local.get", countParam).op(type === I64 ? "i64.mul" : "i32.mul");
    asAddress(body, type, this.#wide);
    if (sizeOffset !== 0) body.i32(sizeOffset).op("i32.add");
  }
}

function loadAddress(body: BodyBuilder, load: OpcodeName, memory: number): void {
  const alignment = load === "i64.load" ? 3 : 2;
  if (memory === 0) body.op(load, alignment, 0);
  else body.op(load, alignment | 0x40, memory, 0);
}

/** Tools work with 32-bit addresses and sizes; what is larger becomes the largest, which is refused. */
function asAddress(body: BodyBuilder, type: number, wideLocal: number): void {
  if (type !== I64) return;
  // min_u(value, 2^32 − 1), bit by bit: the high half spreads over all bits if it is not zero.
  body
    .op("local.tee", wideLocal)
    .op("i32.wrap_i64")
    .op("local.get", wideLocal)
    .i64(32)
    .op("i64.shr_u")
    .op("i64.eqz");
  body.i32(1).op("i32.sub").op("i32.or");
}

/** Adds a constant to the address on the stack, unless it is null. `again` pushes the address once more. */
function addPointerOffset(body: BodyBuilder, offset: number, again: () => void): void {
  if (offset === 0) return;
  body.i32(offset).op("i32.add").i32(0);
  again();
  body.op("select");
}
