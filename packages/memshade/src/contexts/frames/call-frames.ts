import type { WalkState } from "../../rewrite/tool.ts";
import { NO_LOCAL } from "../../rewrite/walk/operand-stack.ts";
import type { SnippetSink } from "../../rewrite/write/snippet-sink.ts";
import { extraLocal } from "../../rewrite/write/temporaries.ts";
import { I32 } from "../../wasm/index.ts";
import { CallTreatment } from "../call-plan.ts";
import type { CallSites } from "./call-sites.ts";
import type { FramePlan } from "./frame-plan.ts";
import { type FrameShapes, frameBytes } from "./frame-shapes.ts";
import type { FrameRequest, FrameSnippets } from "./frame-snippets.ts";

/** All that is known of a module's frames. */
export interface Frames {
  plan: FramePlan;
  calls: CallSites;
  shapes: FrameShapes;
  snippets: FrameSnippets;
}

/** What the insertions of `CallFrames` do; a tool numbers its own from `FrameStep.Last` on. */
export const FrameStep = { Enter: 100, KeepSlot: 101, Call: 102, Back: 103, Last: 104 } as const;

/** Adds an insertion of the tool's kind: position, step and two operands. */
export type AddStep = (position: number, step: number, b: number, c: number) => number;

/** Asks for what a function and its calls do to have frames, in the name of a tool. */
export class CallFrames {
  readonly #frames: Frames;
  readonly #add: AddStep;
  #state!: WalkState;
  #codeStart = 0;
  #next = 0;
  #hostLocal = NO_LOCAL;
  #hasFrame = false;
  /** Local with the frame, or with the caller's slot in a function without one. */
  local = NO_LOCAL;

  constructor(frames: Frames, add: AddStep) {
    this.#frames = frames;
    this.#add = add;
  }

  /** A function's walk begins. `hasFrame`: else its calls run in the context of its caller. */
  begin(state: WalkState, codeStart: number, hasFrame: boolean): void {
    const { plan, calls } = this.#frames;
    this.#state = state;
    this.#codeStart = codeStart;
    this.#next = calls.firstOfFunction[state.function - state.module.importedFunctionCount];
    this.#hostLocal = NO_LOCAL;
    this.local = NO_LOCAL;
    this.#hasFrame = hasFrame;
    if (!hasFrame || !plan.reaches(state.function)) return;
    this.local = extraLocal(state.temporaries, I32);
    this.#add(codeStart, FrameStep.Enter, state.function - state.module.importedFunctionCount, this.local);
  }

  call(callee: number, isTail: boolean, start: number, end: number): void {
    const { plan, calls, shapes } = this.#frames;
    const { module, temporaries } = this.#state;
    const treatment = plan.treatment(this.#state.function, callee, isTail);
    if (treatment === CallTreatment.None) return;
    // Calls come in the order of the walk; those that are never reached are skipped.
    while (calls.offset[this.#next] < start - module.codePayloadStart) this.#next++;
    if (this.local === NO_LOCAL) {
      this.local = extraLocal(temporaries, I32);
      this.#add(this.#codeStart, FrameStep.KeepSlot, this.local, 0);
    }
    const mayLeave = treatment === CallTreatment.Host || treatment === CallTreatment.KeepHost;
    const returns = treatment === CallTreatment.Host;
    if (returns && this.#hostLocal === NO_LOCAL) this.#hostLocal = extraLocal(temporaries, I32);
    const leaves = callee >= 0 ? LEAVES : 0;
    const host = mayLeave ? MAY_LEAVE | leaves : 0;
    const slot = this.#hasFrame ? shapes.slotAt[this.#next] : 0;
    // Slots are 16 bytes apart, so there is room for what the call does.
    this.#add(start, FrameStep.Call, slot | host, returns ? this.#hostLocal : NO_LOCAL);
    if (returns) this.#add(end, FrameStep.Back, leaves, this.#hostLocal);
  }

  write(sink: SnippetSink, step: number, b: number, c: number): void {
    const { snippets } = this.#frames;
    switch (step) {
      case FrameStep.Enter:
        snippets.enter(sink, c, requestOf(this.#frames.shapes, b));
        break;
      case FrameStep.KeepSlot:
        snippets.keepSlot(sink, b);
        break;
      case FrameStep.Call:
        if (c !== NO_LOCAL) snippets.keepHost(sink, c);
        snippets.call(sink, this.local, b & ~(MAY_LEAVE | LEAVES));
        if (b & MAY_LEAVE) snippets.callHost(sink, (b & LEAVES) !== 0);
        break;
      default:
        snippets.returned(sink, c, b !== 0);
    }
  }
}

const MAY_LEAVE = 1;
const LEAVES = 2;

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
