import { type FuncType, I32, I64, type OpcodeName } from "../../code/wasm/index.ts";
import type { InlineFunction, RuntimeFunctions } from "../rewrite/link.ts";
import { BodyBuilder } from "../rewrite/write/body-builder.ts";
import type { AllocationListeners } from "./allocation-listeners.ts";
import type { AllocatorFunction } from "./find/plan.ts";

export interface HookSurroundings {
  original: number;
  /** Offset of that body in the code section. It identifies the context of a call from outside. */
  self: number;
  /** Memory of the program, for functions that store their result there. */
  memory: number;
  recorder: BlockRecorder | undefined;
  /** Appends a function of the same type and name and returns its index. Only for hooks of `busyHooks`. */
  addTwin?: ((body: () => Uint8Array) => number) | undefined;
  listeners: readonly AllocationListeners[];
  /** True for a function of `AllocatorPlan.renewing`. */
  renews?: boolean;
}

/** A tool that records blocks, with the newest frame of its shadow stack at the request. */
export interface BlockRecorder {
  stackGlobal: number;
  /**
   * Functions by name: `allocatedRarely` (address, bytes, frame, self), `reallocated` and `renewed` (old address, new
   * address, bytes, frame, self), and `releasedRarely` (address). `self` is the code offset for a call from outside.
   * Addresses may be 0.
   */
  functions: RuntimeFunctions;
  /** Functions that lock and unlock the tables, if several instances share them. */
  threads?: { lock: number; unlock: number } | undefined;
  /** Inline code for the common path of `allocated` and `released`. */
  inlined?: InlineFunction | undefined;
}

export const ZEROES: ReadonlySet<AllocatorFunction["role"]> = new Set([
  "calloc",
  "rust_alloc_zeroed",
  "as_new",
]);

/**
 * Returns a body that replaces an allocation function: it calls the original, and then the tools. The caller's frame is
 * the newest on the shadow stack, so its address is read first.
 */
export function hookBody(
  hooked: AllocatorFunction,
  type: FuncType,
  surroundings: HookSurroundings,
): Uint8Array {
  const hook = new Hook(hooked, type, surroundings);
  return hooked.kind === "release" ? hook.release() : hook.allocate();
}

class Hook {
  readonly #hooked: AllocatorFunction;
  readonly #type: FuncType;
  readonly #surroundings: HookSurroundings;
  /** Locals after the parameters: the original's result, the newest frame, and a 64-bit address. */
  readonly #result: number;
  readonly #frame: number;
  readonly #wide: number;
  readonly #inlined: ReturnType<InlineFunction> | undefined;
  readonly #body: BodyBuilder;

  constructor(hooked: AllocatorFunction, type: FuncType, surroundings: HookSurroundings) {
    this.#hooked = hooked;
    this.#type = type;
    this.#surroundings = surroundings;
    this.#result = type.params.length;
    this.#frame = this.#result + 1;
    this.#wide = this.#frame + 1;
    const { recorder, addTwin } = surroundings;
    const isBusy = addTwin !== undefined && hooked.kind !== "reallocate" && recorder?.threads === undefined;
    const name = hooked.kind === "release" ? "released" : "allocated";
    this.#inlined = isBusy ? recorder?.inlined?.(name, this.#wide + 1) : undefined;
    this.#body = new BodyBuilder([type.results[0] ?? I32, I32, I64, ...(this.#inlined?.locals ?? [])]);
  }

  release(): Uint8Array {
    const { recorder, addTwin } = this.#surroundings;
    if (this.#inlined !== undefined && addTwin !== undefined)
      return this.#releaseInline(this.#inlined.code, addTwin);
    if (recorder !== undefined) {
      this.#lock(recorder);
      this.#address(this.#hooked.pointerParam);
      this.#body.op("call", recorder.functions.get("releasedRarely") as number);
      this.#unlock(recorder);
    }
    this.#callReleased();
    this.#callOriginal("return_call");
    return this.#body.finish();
  }

  /** No value lives across a call, so the hook needs only registers. */
  #releaseInline(code: Uint8Array, addTwin: (body: () => Uint8Array) => number): Uint8Array {
    const surroundings = { ...this.#surroundings, addTwin: undefined };
    const otherwise = addTwin(() => hookBody(this.#hooked, this.#type, surroundings));
    this.#body.open("block");
    this.#address(this.#hooked.pointerParam);
    this.#body.instructions(code);
    this.#callReleased();
    this.#callOriginal("return_call");
    this.#body.end();
    this.#params();
    return this.#body.op("return_call", otherwise).finish();
  }

  allocate(): Uint8Array {
    const { recorder, listeners, renews = false } = this.#surroundings;
    const body = this.#body;
    const reallocates = this.#hooked.kind === "reallocate";
    if (recorder !== undefined) body.op("global.get", recorder.stackGlobal).op("local.set", this.#frame);
    // Another thread may get the released memory before a tool is called. A renewing function allocates by hooked
    // functions.
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
    for (const listener of listeners) this.#callAllocated(listener, reallocates);
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
    body.op("local.get", this.#frame).i32(this.#surroundings.self);
    const resized = this.#surroundings.renews === true ? "renewed" : "reallocated";
    body.op("call", functions.get(reallocates ? resized : "allocatedRarely") as number);
    if (this.#inlined !== undefined) body.end();
  }

  #callAllocated(listener: AllocationListeners, reallocates: boolean): void {
    const { role, index, pointerParam } = this.#hooked;
    if (reallocates) this.#address(pointerParam);
    this.#block();
    this.#size();
    if (!reallocates) this.#body.i32(ZEROES.has(role) ? listener.zeroedBy(index) : 0);
    this.#body.op("call", reallocates ? listener.reallocated : listener.allocated);
  }

  #callReleased(): void {
    for (const { released } of this.#surroundings.listeners) {
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
    this.#body.op(call, this.#surroundings.original);
  }

  #block(): void {
    const { outPointerParam } = this.#hooked;
    const body = this.#body;
    if (outPointerParam < 0) {
      this.#pointer(this.#result, this.#type.results[0]);
      return;
    }
    // The function stored the address, unless its result is not 0.
    const isWide = this.#type.params[outPointerParam] === I64;
    body.op("local.get", this.#result).op("i32.eqz").open("if", I32);
    body.op("local.get", outPointerParam);
    loadAddress(body, isWide ? "i64.load" : "i32.load", this.#surroundings.memory);
    asAddress(body, isWide ? I64 : I32, this.#wide);
    body.op("else").i32(0).end();
  }

  #address(param: number): void {
    this.#pointer(param, this.#type.params[param]);
  }

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

/**
 * Converts to the 32-bit addresses and sizes of the tools. A larger value becomes the largest 32-bit number, which is
 * rejected.
 */
function asAddress(body: BodyBuilder, type: number, wideLocal: number): void {
  if (type !== I64) return;
  // min_u(value, 2^32 − 1): a high half other than zero sets all bits.
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
