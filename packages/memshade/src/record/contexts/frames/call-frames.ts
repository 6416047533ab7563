import { I32 } from "../../../code/wasm/index.ts";
import type { WalkState } from "../../rewrite/tool.ts";
import { NO_LOCAL } from "../../rewrite/walk/value-numbers.ts";
import { extraLocal } from "../../rewrite/write/temporaries.ts";
import { CallTreatment } from "../call-plan.ts";
import type { CallSites } from "./call-sites.ts";
import type { FramePlan } from "./frame-plan.ts";
import { type FrameShapes, frameBytes } from "./frame-shapes.ts";
import type { FrameRequest, FrameSnippets } from "./frame-snippets.ts";
import { KeptHost } from "./kept-host.ts";

/** All that is known of a module's frames. */
export interface Frames {
  plan: FramePlan;
  calls: CallSites;
  shapes: FrameShapes;
  snippets: FrameSnippets;
}

/** Inserts what a function and its calls do to have frames. */
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

  /** A function's walk begins. `hasFrame`: else its calls run in the context of its caller. */
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
    // Calls come in the order of the walk; those that are never reached are skipped.
    while (calls.offset[this.#next] < start - module.codePayloadStart) this.#next++;
    const local = this.#slotLocal();
    const slot = this.#hasFrame ? shapes.slotAt[this.#next] : 0;
    const leaves = callee >= 0;
    const leavesForGood = !isTail && plan.leavesForGood(callee);
    if (treatment === CallTreatment.Host || leavesForGood)
      this.#host.around(this.#state, start, end, leaves || leavesForGood);
    const hostSlot = treatment === CallTreatment.KeepHost ? this.#callersSlot() : NO_LOCAL;
    insertions.add(start, { write: (sink) => snippets.call(sink, local, slot) });
    if (treatment === CallTreatment.Host || treatment === CallTreatment.KeepHost)
      insertions.add(start, { write: (sink) => snippets.callHost(sink, leaves, hostSlot) });
  }

  /** The local with the caller's slot. */
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

  /** The local with the function's frame, or with the caller's slot. */
  #slotLocal(): number {
    if (this.local !== NO_LOCAL) return this.local;
    const { snippets } = this.#frames;
    const local = extraLocal(this.#state.temporaries, I32);
    this.local = local;
    this.#state.insertions.add(this.#codeStart, { write: (sink) => snippets.keepSlot(sink, local) });
    return local;
  }
}

/** How the function, by its index among the defined ones, asks for a frame. Tags are counted from 1. */
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

/** Bytes of a frame of each function. */
export function allFrameBytes(shapes: FrameShapes): number {
  let sum = 0;
  for (let defined = 0; defined < shapes.recordBytes.length; defined++) sum += frameBytes(shapes, defined);
  return sum;
}
