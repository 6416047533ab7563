import { I32, type WasmModule } from "../../../code/wasm/index.ts";
import * as Op from "../../../code/wasm/op.generated.ts";
import type { AllocatorPlan } from "../../allocator/find/plan.ts";
import type { ModuleScan } from "../../rewrite/facts/module-scan.ts";
import type { WalkState } from "../../rewrite/tool.ts";
import { NO_LOCAL } from "../../rewrite/walk/value-numbers.ts";
import type { SnippetSink } from "../../rewrite/write/snippet-sink.ts";
import { extraLocal } from "../../rewrite/write/temporaries.ts";
import { CallPlan, CallTreatment } from "../call-plan.ts";
import type { FollowedCalls } from "../entry-wrappers.ts";
import { ENTRY_WORD, FRAME_HEADER_BYTES, HOST_WORD, SLOT_BYTES, Slot } from "../layout.ts";
import type { CallSites } from "./call-sites.ts";

const NOTHING = 0x40;

export interface FrameTargets {
  memory: number;
  /** Global in which a caller leaves the address of the slot. */
  slotGlobal: number;
  /**
   * Function (slot, tag, bytes, first slot, pushes, slots) → frame. Called if the slot holds no frame of the callee.
   */
  enterFrame: number;
  /** Address of the host word. `rootSlot`: address of the slot for calls from outside. */
  hostWord: number;
  rootSlot: number;
}

interface FrameRequest {
  tag: number;
  bytes: number;
  firstSlot: number;
  pushes: number;
  slots: number;
}

/** Writes the code by which functions and calls obtain the frame of their context. */
export class FrameSnippets {
  readonly #targets: FrameTargets;

  constructor(targets: FrameTargets) {
    this.#targets = targets;
  }

  /** Puts the frame in a local, at the start of a body. */
  enter(sink: SnippetSink, frame: number, request: FrameRequest): void {
    const { memory, slotGlobal } = this.#targets;
    sink.indexed(Op.GLOBAL_GET, slotGlobal);
    sink.local(Op.LOCAL_TEE, frame);
    sink.access(Op.I32_LOAD, 2, memory, Slot.tag);
    sink.i32(request.tag);
    sink.plain(Op.I32_NE);
    sink.rarely();
    sink.open(Op.IF, NOTHING);
    this.pushNew(sink, request);
    sink.local(Op.LOCAL_SET, frame);
    sink.plain(Op.ELSE);
    sink.local(Op.LOCAL_GET, frame);
    sink.access(Op.I32_LOAD, 2, memory, Slot.frame);
    sink.local(Op.LOCAL_SET, frame);
    sink.end();
  }

  /** Pushes the frame of a function that may be new at this slot. */
  pushNew(sink: SnippetSink, { tag, bytes, firstSlot, pushes, slots }: FrameRequest): void {
    sink.indexed(Op.GLOBAL_GET, this.#targets.slotGlobal);
    for (const value of [tag, bytes, firstSlot, pushes, slots]) sink.i32(value);
    sink.indexed(Op.CALL, this.#targets.enterFrame);
  }

  /** Keeps the caller's slot for the function's own calls, at the start of a body without a frame. */
  keepSlot(sink: SnippetSink, local: number): void {
    sink.indexed(Op.GLOBAL_GET, this.#targets.slotGlobal);
    sink.local(Op.LOCAL_SET, local);
  }

  /** Sets the slot before a call. It is `offset` bytes after the address in the local. */
  call(sink: SnippetSink, local: number, offset: number): void {
    sink.local(Op.LOCAL_GET, local);
    if (offset !== 0) {
      sink.i32(offset);
      sink.plain(Op.I32_ADD);
    }
    sink.indexed(Op.GLOBAL_SET, this.#targets.slotGlobal);
  }

  /**
   * Sets the host words, directly after the code of `call`, if the host may get control. Calls from the host continue
   * at this slot, or at the slot in a local. `leaves`: the call certainly leaves the module.
   */
  callHost(sink: SnippetSink, leaves: boolean, slot = NO_LOCAL): void {
    const { memory, slotGlobal, hostWord, rootSlot } = this.#targets;
    for (const word of leaves ? [HOST_WORD, ENTRY_WORD] : [HOST_WORD]) {
      sink.i32(hostWord);
      if (slot === NO_LOCAL) sink.indexed(Op.GLOBAL_GET, slotGlobal);
      else sink.local(Op.LOCAL_GET, slot);
      sink.i32(rootSlot);
      sink.plain(Op.I32_SUB);
      sink.access(Op.I32_STORE, 2, memory, word);
    }
  }

  /** Saves the host word in a local, before a call that may change it. */
  keepHost(sink: SnippetSink, local: number): void {
    const { memory, hostWord } = this.#targets;
    sink.i32(hostWord);
    sink.access(Op.I32_LOAD, 2, memory, HOST_WORD);
    sink.local(Op.LOCAL_SET, local);
  }

  /** Restores the host words after such a call. */
  returned(sink: SnippetSink, local: number, leaves: boolean): void {
    const { memory, hostWord } = this.#targets;
    for (const word of leaves ? [HOST_WORD, ENTRY_WORD] : [HOST_WORD]) {
      sink.i32(hostWord);
      sink.local(Op.LOCAL_GET, local);
      sink.access(Op.I32_STORE, 2, memory, word);
    }
  }
}

/** Returns the words that entry wrappers keep: the host's position, counted from the root's slot. */
export function entryStack({
  slotGlobal,
  hostWord,
  rootSlot,
}: FrameTargets): Omit<FollowedCalls, "shadowMemory"> {
  return {
    stackGlobal: slotGlobal,
    frames: {
      hostWord: { global: -1, offset: hostWord },
      emptyStack: { global: -1, offset: rootSlot },
    },
  };
}

/** Host word of a function, kept in a local across calls that may change it. */
export class KeptHost {
  readonly #snippets: FrameSnippets;
  #local = NO_LOCAL;

  constructor(snippets: FrameSnippets) {
    this.#snippets = snippets;
  }

  begin(): void {
    this.#local = NO_LOCAL;
  }

  /** Inserts code around the call at `[start, end)`. `leaves`: the call has certainly left the module. */
  keepAround({ insertions, temporaries }: WalkState, start: number, end: number, leaves: boolean): void {
    if (this.#local === NO_LOCAL) this.#local = extraLocal(temporaries, I32);
    const local = this.#local;
    insertions.add(start, { write: (sink) => this.#snippets.keepHost(sink, local) });
    insertions.add(end, { write: (sink) => this.#snippets.returned(sink, local, leaves) });
  }
}

/** Call plan of frames. Every call has a slot and so a site of its own, even a tail call. */
export class FramePlan extends CallPlan {
  readonly #hooked: ReadonlySet<number>;

  /** `targets`: functions in which events happen. The allocator's code leads to none of them. */
  constructor(module: WasmModule, scan: ModuleScan, allocator: AllocatorPlan, targets: readonly number[]) {
    const internals = new Set(allocator.internals);
    super(module, scan, targets, (caller) => internals.has(caller));
    this.#hooked = new Set(allocator.functions.map(({ index }) => index));
  }

  treatment(caller: number, callee: number, isTail: boolean): number {
    if (callee < 0) {
      if (!this.entries.hostMayCallReferences) return CallTreatment.Push;
      return isTail ? CallTreatment.KeepHost : CallTreatment.Host;
    }
    if (!this.reaches(callee) || this.#hooked.has(callee)) return CallTreatment.None;
    if (callee < this.imported) return isTail ? CallTreatment.KeepHost : CallTreatment.Host;
    return this.isRecursive(caller, callee) ? CallTreatment.Keep : CallTreatment.Push;
  }
}

export interface Frames {
  plan: FramePlan;
  calls: CallSites;
  shapes: FrameShapes;
  snippets: FrameSnippets;
}

export class CallFrames {
  readonly #frames: Frames;
  readonly #host: KeptHost;
  #state!: WalkState;
  #codeStart = 0;
  #next = 0;
  #hasFrame = false;
  #askedAt = NO_LOCAL;
  /** Local with the frame, or with the caller's slot in a function without one. */
  local = NO_LOCAL;

  constructor(frames: Frames) {
    this.#frames = frames;
    this.#host = new KeptHost(frames.snippets);
  }

  /** Begins the walk of a function. `hasFrame`: false if its calls run in the context of its caller. */
  begin(state: WalkState, codeStart: number, hasFrame: boolean): void {
    const { plan, calls, shapes, snippets } = this.#frames;
    this.#state = state;
    this.#codeStart = codeStart;
    const defined = state.function - state.module.importedFunctionCount;
    this.#next = calls.firstOfFunction[defined];
    this.#host.begin();
    this.#askedAt = NO_LOCAL;
    this.local = NO_LOCAL;
    this.#hasFrame = hasFrame;
    if (!hasFrame || !plan.reaches(state.function)) return;
    const local = extraLocal(state.temporaries, I32);
    this.local = local;
    state.insertions.add(codeStart, {
      write: (sink) => snippets.enter(sink, local, requestOf(shapes, defined)),
    });
  }

  call(callee: number, isTail: boolean, start: number, end: number): void {
    const { plan, calls, shapes, snippets } = this.#frames;
    const { module, insertions } = this.#state;
    const treatment = plan.treatment(this.#state.function, callee, isTail);
    if (treatment === CallTreatment.None) return;
    // Calls arrive in code order; unreachable ones are skipped.
    while (calls.offset[this.#next] < start - module.codePayloadStart) this.#next++;
    const local = this.#slotLocal();
    const slot = this.#hasFrame ? shapes.slotAt[this.#next] : 0;
    const leaves = callee >= 0;
    const leavesForGood = !isTail && plan.leavesForGood(callee);
    if (treatment === CallTreatment.Host || leavesForGood)
      this.#host.keepAround(this.#state, start, end, leaves || leavesForGood);
    const hostSlot = treatment === CallTreatment.KeepHost ? this.#callersSlot() : NO_LOCAL;
    insertions.add(start, { write: (sink) => snippets.call(sink, local, slot) });
    if (treatment === CallTreatment.Host || treatment === CallTreatment.KeepHost)
      insertions.add(start, { write: (sink) => snippets.callHost(sink, leaves, hostSlot) });
  }

  #callersSlot(): number {
    if (!this.#hasFrame) return this.#slotLocal();
    if (this.#askedAt === NO_LOCAL) {
      this.#askedAt = extraLocal(this.#state.temporaries, I32);
      const local = this.#askedAt;
      const { snippets } = this.#frames;
      this.#state.insertions.add(this.#codeStart, { write: (sink) => snippets.keepSlot(sink, local) });
    }
    return this.#askedAt;
  }

  /** Returns the local with the function's frame, or with the caller's slot. */
  #slotLocal(): number {
    if (this.local !== NO_LOCAL) return this.local;
    const { snippets } = this.#frames;
    const local = extraLocal(this.#state.temporaries, I32);
    this.local = local;
    this.#state.insertions.add(this.#codeStart, { write: (sink) => snippets.keepSlot(sink, local) });
    return local;
  }
}

/** Returns the frame request of a function, by its index among the defined ones. Tags start at 1. */
export function requestOf(shapes: FrameShapes, defined: number): FrameRequest {
  const slots = shapes.firstSlot[defined + 1] - shapes.firstSlot[defined];
  return {
    tag: defined + 1,
    bytes: shapes.recordBytes[defined],
    firstSlot: shapes.firstSlot[defined],
    pushes: shapes.pushes[defined],
    slots,
  };
}

/** Returns the size of one frame of each function together, bytes. */
export function allFrameBytes(shapes: FrameShapes): number {
  let sum = 0;
  for (let defined = 0; defined < shapes.recordBytes.length; defined++) sum += frameBytes(shapes, defined);
  return sum;
}

/**
 * Layout of a module's frames. A header and the records of the function's sites come first. Slots follow, one per call
 * whose callee needs its context; slots that add their site to the context come first.
 */
export interface FrameShapes {
  /** Bytes of header and records, by defined function. */
  recordBytes: Uint32Array;
  /** First slot number of each defined function, and the end of the last. */
  firstSlot: Int32Array;
  /** Number of slots that add their site to the context, by defined function. */
  pushes: Uint32Array;
  /** Offset from the frame to its slot, by call; 0 if it has none. */
  slotAt: Uint32Array;
  callOfSlot: Int32Array;
}

/** `recordBytes`: size of each defined function's records. */
export function frameShapes(
  module: WasmModule,
  calls: CallSites,
  plan: FramePlan,
  recordBytes: ArrayLike<number>,
): FrameShapes {
  const count = module.bodies.length;
  const shapes: FrameShapes = {
    recordBytes: new Uint32Array(count),
    firstSlot: new Int32Array(count + 1),
    pushes: new Uint32Array(count),
    slotAt: new Uint32Array(calls.length),
    callOfSlot: new Int32Array(calls.length),
  };
  let slots = 0;
  for (let defined = 0; defined < count; defined++) {
    const bytes = FRAME_HEADER_BYTES + Math.ceil(recordBytes[defined] / 8) * 8;
    shapes.recordBytes[defined] = bytes;
    shapes.firstSlot[defined] = slots;
    const give = (keeps: boolean): void => {
      for (let call = calls.firstOfFunction[defined]; call < calls.firstOfFunction[defined + 1]; call++) {
        const caller = defined + module.importedFunctionCount;
        const treatment = plan.treatment(caller, calls.callee[call], calls.isTail[call]);
        if (treatment === CallTreatment.None || (treatment === CallTreatment.Keep) !== keeps) continue;
        shapes.slotAt[call] = bytes + (slots - shapes.firstSlot[defined]) * SLOT_BYTES;
        shapes.callOfSlot[slots++] = call;
      }
    };
    give(false);
    shapes.pushes[defined] = slots - shapes.firstSlot[defined];
    give(true);
  }
  shapes.firstSlot[count] = slots;
  return shapes;
}

function frameBytes({ recordBytes, firstSlot }: FrameShapes, defined: number): number {
  return recordBytes[defined] + (firstSlot[defined + 1] - firstSlot[defined]) * SLOT_BYTES;
}
