import { I32, type WasmModule } from "../../code/wasm/index.ts";
import * as Op from "../../code/wasm/op.generated.ts";
import { AllocatorRoles } from "../allocator/allocator-roles.ts";
import type { AllocatorPlan } from "../allocator/find/plan.ts";
import type { ModuleScan } from "../rewrite/facts/module-scan.ts";
import type { ToolPass, WalkState } from "../rewrite/tool.ts";
import { NO_LOCAL } from "../rewrite/walk/value-numbers.ts";
import type { Insertion } from "../rewrite/write/insertions.ts";
import type { SnippetSink } from "../rewrite/write/snippet-sink.ts";
import { extraLocal, LASTING_SCRATCH } from "../rewrite/write/temporaries.ts";
import { CallPlan, CallTreatment } from "./call-plan.ts";
import { pushPlace } from "./frame-base.ts";
import type { HostFrameFunctions, ShadowStack } from "./host-frame-functions.ts";
import { ENTRY_WORD, HOST_WORD, STACK_FRAME_BYTES } from "./layout.ts";

/**
 * Call plan of the shadow stack: calls outside of the allocator push a frame if an allocation can happen below them.
 */
export class StackPlan extends CallPlan {
  readonly #roles: AllocatorRoles;

  constructor(module: WasmModule, scan: ModuleScan, allocator: AllocatorPlan) {
    const roles = new AllocatorRoles(module, allocator);
    const allocating = allocator.functions.filter(({ kind }) => kind !== "release");
    super(
      module,
      scan,
      allocating.map(({ index }) => index),
      // The allocator's calls to the host (for memory, or to abort) lead to no allocation.
      (caller, callee) => callee < module.importedFunctionCount && roles.isInternal(caller),
    );
    this.#roles = roles;
  }

  /** True if calls in this function may need frames. */
  hasFrames(caller: number): boolean {
    return this.reaches(caller) && !this.#roles.isInternal(caller);
  }

  treatment(caller: number, callee: number, isTail: boolean): number {
    if (!this.hasFrames(caller)) return CallTreatment.None;
    const folded = this.#roles.isWrapper(caller);
    if (callee < 0) {
      if (this.entries.hostMayCallReferences)
        return isTail || folded ? CallTreatment.KeepHost : CallTreatment.Host;
      return isTail || folded ? CallTreatment.Keep : CallTreatment.Push;
    }
    if (!this.reaches(callee)) return CallTreatment.None;
    if (this.#roles.isInternal(callee) && !this.#roles.isHooked(callee)) return CallTreatment.None;
    if (callee < this.imported) return isTail ? CallTreatment.KeepHost : CallTreatment.Host;
    return folded || this.isRecursive(caller, callee) ? CallTreatment.Keep : CallTreatment.Push;
  }
}

const FRAME = LASTING_SCRATCH;

export class ShadowStackPass implements ToolPass {
  readonly everywhere = "wrappers";
  readonly #plan: StackPlan;
  readonly #stack: ShadowStack;
  readonly #functions: HostFrameFunctions;
  #state!: WalkState;
  #hasFrame = false;
  #hostWord = NO_LOCAL;

  /** Reads the shadow stack pointer at the start of a body, if a call of it needs a frame. */
  readonly #prologue: Insertion = {
    write: (sink) => {
      if (!this.#hasFrame) return;
      sink.indexed(Op.GLOBAL_GET, this.#stack.stackGlobal);
      sink.i32(STACK_FRAME_BYTES);
      sink.plain(Op.I32_ADD);
      sink.local(Op.LOCAL_SET, FRAME);
    },
  };

  constructor(plan: StackPlan, stack: ShadowStack, functions: HostFrameFunctions) {
    this.#plan = plan;
    this.#stack = stack;
    this.#functions = functions;
  }

  begin(state: WalkState, codeStart: number): void {
    this.#state = state;
    this.#hasFrame = false;
    this.#hostWord = NO_LOCAL;
    if (this.#plan.hasFrames(state.function)) state.insertions.add(codeStart, this.#prologue);
  }

  call(callee: number, tail: boolean, start: number, end: number): void {
    const { function: caller, insertions, module, openLoops } = this.#state;
    const treatment = this.#plan.treatment(caller, callee, tail);
    if (treatment === CallTreatment.None) return;
    this.#hasFrame = true;
    const site = start - module.codePayloadStart;
    const leavesForGood = !tail && this.#plan.leavesForGood(callee);
    // An indirect call may stay in the module.
    const leaves = callee >= 0;
    if (treatment === CallTreatment.Host && openLoops === 0) {
      const host = this.#keptHostWord();
      insertions.add(start, { write: (sink) => this.#callPushHost(sink, site, leaves, host) });
      insertions.add(end, { write: (sink) => this.#callPutBack(sink, host) });
      return;
    }
    const mayLeave = treatment === CallTreatment.Host || treatment === CallTreatment.KeepHost;
    if ((mayLeave && !tail) || leavesForGood) {
      const host = this.#keptHostWord();
      insertions.add(start, { write: (sink) => this.#keepHostWord(sink, host) });
      insertions.add(end, { write: (sink) => this.#putBack(sink, leaves || leavesForGood, host) });
    }
    if (treatment === CallTreatment.Push) insertions.add(start, { write: (sink) => this.#push(sink, site) });
    else if (treatment === CallTreatment.Keep) insertions.add(start, { write: (sink) => this.#keep(sink) });
    else if (treatment === CallTreatment.KeepHost)
      insertions.add(start, { write: (sink) => this.#keepHost(sink, leaves) });
    else insertions.add(start, { write: (sink) => this.#pushHost(sink, site, leaves) });
  }

  end(): void {
    if (this.#hasFrame) this.#state.temporaries.scratch = true;
  }

  #keptHostWord(): number {
    if (this.#hostWord === NO_LOCAL) this.#hostWord = extraLocal(this.#state.temporaries, I32);
    return this.#hostWord;
  }

  /** Saves the host word before a call that changes it. */
  #keepHostWord(sink: SnippetSink, host: number): void {
    const { shadowMemory, frames } = this.#stack;
    pushPlace(sink, frames.hostWord);
    sink.access(Op.I32_LOAD, 2, shadowMemory, HOST_WORD);
    sink.local(Op.LOCAL_SET, host);
  }

  /** Pushes a frame before a call that may lead back into the module. */
  #pushHost(sink: SnippetSink, site: number, leaves: boolean): void {
    this.#push(sink, site);
    this.#setHostWords(sink, 0, leaves);
  }

  #putBack(sink: SnippetSink, leaves: boolean, host: number): void {
    const { shadowMemory, frames } = this.#stack;
    for (const word of hostWords(leaves)) {
      pushPlace(sink, frames.hostWord);
      sink.local(Op.LOCAL_GET, host);
      sink.access(Op.I32_STORE, 2, shadowMemory, word);
    }
  }

  /** Does the same by calls: smaller and slower. */
  #callPushHost(sink: SnippetSink, site: number, leaves: boolean, host: number): void {
    sink.local(Op.LOCAL_GET, FRAME);
    sink.i64(site);
    sink.indexed(Op.CALL, this.#functions.push(leaves));
    sink.local(Op.LOCAL_SET, host);
  }

  #callPutBack(sink: SnippetSink, host: number): void {
    sink.local(Op.LOCAL_GET, host);
    sink.indexed(Op.CALL, this.#functions.returned());
  }

  /** Makes the call's frame the newest: its call site, and zero for the memo of its tree node. */
  #push(sink: SnippetSink, site: number): void {
    sink.local(Op.LOCAL_GET, FRAME);
    sink.i64(site);
    sink.access(Op.I64_STORE, 3, this.#stack.shadowMemory, 0);
    sink.local(Op.LOCAL_GET, FRAME);
    sink.indexed(Op.GLOBAL_SET, this.#stack.stackGlobal);
  }

  /**
   * Lets the callee inherit the caller's frame: a call inside a recursive component, a call in a wrapper, or a tail
   * call.
   */
  #keep(sink: SnippetSink): void {
    sink.local(Op.LOCAL_GET, FRAME);
    sink.i32(-STACK_FRAME_BYTES);
    sink.plain(Op.I32_ADD);
    sink.indexed(Op.GLOBAL_SET, this.#stack.stackGlobal);
  }

  /** Lets the callee inherit the frame, before a tail call that may lead back into the module. */
  #keepHost(sink: SnippetSink, leaves: boolean): void {
    this.#keep(sink);
    this.#setHostWords(sink, -STACK_FRAME_BYTES, leaves);
  }

  /** Sets the position for calls from the host: distance from the empty stack to the frame, plus `distance`. */
  #setHostWords(sink: SnippetSink, distance: number, leaves: boolean): void {
    const { shadowMemory, frames } = this.#stack;
    for (const word of hostWords(leaves)) {
      pushPlace(sink, frames.hostWord);
      sink.local(Op.LOCAL_GET, FRAME);
      pushPlace(sink, frames.emptyStack);
      sink.plain(Op.I32_SUB);
      if (distance !== 0) {
        sink.i32(distance);
        sink.plain(Op.I32_ADD);
      }
      sink.access(Op.I32_STORE, 2, shadowMemory, word);
    }
  }
}

/** Returns the words that a call sets: both if it certainly leaves the module. */
function hostWords(leaves: boolean): readonly number[] {
  return leaves ? BOTH_WORDS : HOST_WORD_ALONE;
}

const BOTH_WORDS = [HOST_WORD, ENTRY_WORD];
const HOST_WORD_ALONE = [HOST_WORD];
