import { CallTreatment } from "../../../contexts/call-plan.ts";
import type { FramePlan } from "../../../contexts/frames/frame-plan.ts";
import type { FrameSnippets } from "../../../contexts/frames/frame-snippets.ts";
import type { WalkState } from "../../../rewrite/tool.ts";
import { NO_LOCAL } from "../../../rewrite/walk/operand-stack.ts";
import type { SnippetSink } from "../../../rewrite/write/snippet-sink.ts";
import { extraLocal } from "../../../rewrite/write/temporaries.ts";
import { I32 } from "../../../wasm/index.ts";
import * as Op from "../../../wasm/op.generated.ts";

/** What the insertions of `NodeCalls` do, with numbers that no others of the tool have. */
const NodeStep = {
  Begin: 200,
  Enter: 201,
  Leave: 202,
  KeepHost: 203,
  CallHost: 204,
  Back: 205,
  Note: 206,
} as const;

export interface NodeTargets {
  plan: FramePlan;
  /** Global with the node of the context at hand. */
  nodeGlobal: number;
  /** The tool's memory. */
  memory: number;
  /** (code offset of a call) → node of what it calls. */
  enter: number;
  /** Where the host stands; the global above is what they count from 0. */
  snippets: FrameSnippets;
}

/**
 * What calls do to the calling context in precise mode. A global has the node at hand: a call changes it, and puts back
 * what the function keeps in a local. Whoever catches an exception puts it back too, and wrappers around what the host may
 * call set it to where the host stands.
 */
export class NodeCalls {
  readonly #targets: NodeTargets;
  readonly #add: (position: number, step: number, b: number, c: number) => number;
  readonly #catches: boolean;
  #state!: WalkState;
  #codeStart = 0;
  #local = NO_LOCAL;
  #hostLocal = NO_LOCAL;

  /** `catches`: whether functions of the module may catch exceptions. */
  constructor(
    targets: NodeTargets,
    catches: boolean,
    add: (position: number, step: number, b: number, c: number) => number,
  ) {
    this.#targets = targets;
    this.#catches = catches;
    this.#add = add;
  }

  begin(state: WalkState, codeStart: number): void {
    this.#state = state;
    this.#codeStart = codeStart;
    this.#local = NO_LOCAL;
    this.#hostLocal = NO_LOCAL;
  }

  call(callee: number, isTail: boolean, start: number, end: number): void {
    const treatment = this.#targets.plan.treatment(this.#state.function, callee, isTail);
    if (treatment === CallTreatment.None || treatment === CallTreatment.Keep) return;
    const node = this.#node();
    const mayLeave = treatment === CallTreatment.Host || treatment === CallTreatment.KeepHost;
    const returns = treatment === CallTreatment.Host;
    const leaves = callee >= 0 ? 1 : 0;
    if (returns && this.#hostLocal === NO_LOCAL) this.#hostLocal = extraLocal(this.#state.temporaries, I32);
    if (returns) this.#add(start, NodeStep.KeepHost, this.#hostLocal, 0);
    this.#add(start, NodeStep.Enter, start - this.#state.module.codePayloadStart, 0);
    if (mayLeave) this.#add(start, NodeStep.CallHost, leaves, 0);
    if (!isTail) this.#add(end, NodeStep.Leave, node, 0);
    if (returns) this.#add(end, NodeStep.Back, leaves, this.#hostLocal);
  }

  /** What follows at `position` may be what comes behind a throw. */
  caught(position: number): void {
    if (this.#catches) this.#add(position, NodeStep.Leave, this.#node(), 0);
  }

  /** Puts the node at hand into a word of the tool's memory, before the instruction at `start`. */
  note(start: number, word: number): void {
    this.#add(start, NodeStep.Note, word, 0);
  }

  /** The local with the function's own node. */
  #node(): number {
    if (this.#local === NO_LOCAL) {
      this.#local = extraLocal(this.#state.temporaries, I32);
      this.#add(this.#codeStart, NodeStep.Begin, this.#local, 0);
    }
    return this.#local;
  }

  write(sink: SnippetSink, step: number, b: number, c: number): void {
    const { nodeGlobal, enter, snippets, memory } = this.#targets;
    switch (step) {
      case NodeStep.Note:
        sink.i32(0);
        sink.indexed(Op.GLOBAL_GET, nodeGlobal);
        sink.access(Op.I32_STORE, 2, memory, b);
        break;
      case NodeStep.Begin:
        sink.indexed(Op.GLOBAL_GET, nodeGlobal);
        sink.local(Op.LOCAL_SET, b);
        break;
      case NodeStep.Enter:
        sink.i32(b);
        sink.indexed(Op.CALL, enter);
        sink.indexed(Op.GLOBAL_SET, nodeGlobal);
        break;
      case NodeStep.Leave:
        sink.local(Op.LOCAL_GET, b);
        sink.indexed(Op.GLOBAL_SET, nodeGlobal);
        break;
      case NodeStep.KeepHost:
        snippets.keepHost(sink, b);
        break;
      case NodeStep.CallHost:
        snippets.callHost(sink, b !== 0);
        break;
      case NodeStep.Back:
        snippets.returned(sink, c, b !== 0);
    }
  }
}
