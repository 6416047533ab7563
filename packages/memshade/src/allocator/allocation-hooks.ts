import type { InlineFunction } from "../rewrite/link/inline-functions.ts";
import type { RuntimeFunctions } from "../rewrite/link/shadow-runtime.ts";
import { BodyBuilder } from "../rewrite/write/body-builder.ts";
import { type FuncType, I32, I64, type OpcodeName } from "../wasm/index.ts";
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
}

/** A tool that is told of blocks, and in which frame of its shadow stack they were asked for. */
export interface BlockRecorder {
  /** Global with the address of the newest frame. */
  stackGlobal: number;
  /**
   * By name: `allocatedRarely` (address, bytes, frame, self), `reallocated` (old address, new address, bytes, frame, self)
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
  const result = type.results[0];
  const resultLocal = type.params.length;
  const stackLocal = resultLocal + 1;
  const wideLocal = stackLocal + 1;
  const { recorder, listeners } = around;
  const threads = recorder?.threads;
  const { addTwin } = around;
  const busy = addTwin !== undefined && hooked.kind !== "reallocate" && threads === undefined;
  const inlined = busy
    ? recorder?.inlined?.(hooked.kind === "release" ? "released" : "allocated", wideLocal + 1)
    : undefined;
  const body = new BodyBuilder([result ?? I32, I32, I64, ...(inlined?.locals ?? [])]);
  const tell = (name: "allocatedRarely" | "reallocated" | "releasedRarely"): void => {
    body.op("call", recorder?.functions.get(name) as number);
  };

  const address = (param: number): void => {
    body.op("local.get", param);
    asAddress(body, type.params[param], wideLocal);
    addPointerOffset(body, hooked.pointerOffset, () => {
      body.op("local.get", param);
      asAddress(body, type.params[param], wideLocal);
    });
  };
  const size = (): void => {
    body.op("local.get", hooked.sizeParam);
    if (hooked.countParam >= 0) {
      body.op("local.get", hooked.countParam);
      body.op(type.params[hooked.sizeParam] === I64 ? "i64.mul" : "i32.mul");
    }
    asAddress(body, type.params[hooked.sizeParam], wideLocal);
    if (hooked.sizeOffset !== 0) body.i32(hooked.sizeOffset).op("i32.add");
  };
  const pushParams = (): void => {
    for (let i = 0; i < type.params.length; i++) body.op("local.get", i);
  };
  const callOriginal = (call: "call" | "return_call" = "call"): void => {
    pushParams();
    body.op(call, around.original);
  };
  const tellListeners = (): void => {
    for (const listener of listeners) {
      address(hooked.pointerParam);
      body.op("call", listener.released);
    }
  };

  if (hooked.kind === "release") {
    if (inlined !== undefined && addTwin !== undefined) {
      // Nothing is kept over a call, so the whole hook needs no more than registers.
      const otherwise = addTwin(() => hookBody(hooked, type, { ...around, addTwin: undefined }));
      body.open("block");
      address(hooked.pointerParam);
      body.instructions(inlined.code);
      tellListeners();
      callOriginal("return_call");
      body.end();
      pushParams();
      body.op("return_call", otherwise);
      return body.finish();
    }
    if (recorder !== undefined) {
      if (threads !== undefined) body.op("call", threads.lock);
      address(hooked.pointerParam);
      tell("releasedRarely");
      if (threads !== undefined) body.op("call", threads.unlock);
    }
    tellListeners();
    callOriginal("return_call");
    return body.finish();
  }

  const reallocates = hooked.kind === "reallocate";
  if (recorder !== undefined) body.op("global.get", recorder.stackGlobal).op("local.set", stackLocal);
  // What a reallocation gives back, another thread may get before anybody here is told.
  if (threads !== undefined && reallocates) body.op("call", threads.lock);
  for (const { requested } of listeners) if (requested !== undefined) body.op("call", requested);
  callOriginal();
  body.op("local.set", resultLocal);
  const block = (): void => {
    if (hooked.outPointerParam < 0) {
      body.op("local.get", resultLocal);
      asAddress(body, result, wideLocal);
      addPointerOffset(body, hooked.pointerOffset, () => {
        body.op("local.get", resultLocal);
        asAddress(body, result, wideLocal);
      });
      return;
    }
    // The address was stored; a result other than 0 says that it was not.
    const wide = type.params[hooked.outPointerParam] === I64;
    body.op("local.get", resultLocal).op("i32.eqz").open("if", I32);
    body.op("local.get", hooked.outPointerParam);
    loadAddress(body, wide ? "i64.load" : "i32.load", around.memory);
    asAddress(body, wide ? I64 : I32, wideLocal);
    body.op("else").i32(0).end();
  };
  if (recorder !== undefined) {
    if (threads !== undefined && !reallocates) body.op("call", threads.lock);
    if (inlined !== undefined) {
      body.open("block").open("block");
      block();
      size();
      body.op("local.get", stackLocal).instructions(inlined.code).op("br", 1).end();
    }
    if (reallocates) address(hooked.pointerParam);
    block();
    size();
    body.op("local.get", stackLocal).i32(around.self);
    tell(reallocates ? "reallocated" : "allocatedRarely");
    if (inlined !== undefined) body.end();
    if (threads !== undefined) body.op("call", threads.unlock);
  }
  for (const listener of listeners) {
    if (reallocates) address(hooked.pointerParam);
    block();
    size();
    if (!reallocates) body.i32(ZEROES.has(hooked.role) ? listener.zeroedBy(hooked.index) : 0);
    body.op("call", reallocates ? listener.reallocated : listener.allocated);
  }
  body.op("local.get", resultLocal);
  return body.finish();
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
