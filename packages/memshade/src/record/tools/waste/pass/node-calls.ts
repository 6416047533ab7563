import { I32 } from "../../../../code/wasm/index.ts";
import * as Op from "../../../../code/wasm/op.generated.ts";
import { CallTreatment } from "../../../contexts/call-plan.ts";
import type { FramePlan } from "../../../contexts/frames/frame-plan.ts";
import type { FrameSnippets } from "../../../contexts/frames/frame-snippets.ts";
import { KeptHost } from "../../../contexts/frames/kept-host.ts";
import type { WalkState } from "../../../rewrite/tool.ts";
import { NO_LOCAL } from "../../../rewrite/walk/value-numbers.ts";
import { extraLocal } from "../../../rewrite/write/temporaries.ts";

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
  readonly #catches: boolean;
  readonly #host: KeptHost;
  #state!: WalkState;
  #codeStart = 0;
  #local = NO_LOCAL;

  /** `catches`: whether functions of the module may catch exceptions. */
  constructor(targets: NodeTargets, catches: boolean) {
    this.#targets = targets;
    this.#catches = catches;
    this.#host = new KeptHost(targets.snippets);
  }

  begin(state: WalkState, codeStart: number): void {
    this.#state = state;
    this.#codeStart = codeStart;
    this.#local = NO_LOCAL;
    this.#host.begin();
  }

  call(callee: number, isTail: boolean, start: number, end: number): void {
    const { plan, snippets, nodeGlobal, enter } = this.#targets;
    const { insertions, module } = this.#state;
    const treatment = plan.treatment(this.#state.function, callee, isTail);
    if (treatment === CallTreatment.None) return;
    const leavesForGood = !isTail && plan.leavesForGood(callee);
    const leaves = callee >= 0;
    if (treatment === CallTreatment.Host || leavesForGood)
      this.#host.around(this.#state, start, end, leaves || leavesForGood);
    if (treatment === CallTreatment.Keep) return;
    const node = this.#node();
    insertions.add(start, {
      write(sink) {
        sink.i32(start - module.codePayloadStart);
        sink.indexed(Op.CALL, enter);
        sink.indexed(Op.GLOBAL_SET, nodeGlobal);
      },
    });
    if (treatment === CallTreatment.Host)
      insertions.add(start, { write: (sink) => snippets.callHost(sink, leaves) });
    if (treatment === CallTreatment.KeepHost)
      insertions.add(start, { write: (sink) => snippets.callHost(sink, leaves, node) });
    if (!isTail) this.#putBack(end, node);
  }

  /** What follows at `position` may be what comes behind a throw. */
  caught(position: number): void {
    if (this.#catches) this.#putBack(position, this.#node());
  }

  /** Puts the node at hand into a word of the tool's memory, before the instruction at `start`. */
  note(start: number, word: number): void {
    const { nodeGlobal, memory } = this.#targets;
    this.#state.insertions.add(start, {
      write(sink) {
        sink.i32(0);
        sink.indexed(Op.GLOBAL_GET, nodeGlobal);
        sink.access(Op.I32_STORE, 2, memory, word);
      },
    });
  }

  /** The local with the function's own node. */
  #node(): number {
    if (this.#local !== NO_LOCAL) return this.#local;
    const { nodeGlobal } = this.#targets;
    const local = extraLocal(this.#state.temporaries, I32);
    this.#local = local;
    this.#state.insertions.add(this.#codeStart, {
      write(sink) {
        sink.indexed(Op.GLOBAL_GET, nodeGlobal);
        sink.local(Op.LOCAL_SET, local);
      },
    });
    return local;
  }

  #putBack(position: number, node: number): void {
    const { nodeGlobal } = this.#targets;
    this.#state.insertions.add(position, {
      write(sink) {
        sink.local(Op.LOCAL_GET, node);
        sink.indexed(Op.GLOBAL_SET, nodeGlobal);
      },
    });
  }
}
