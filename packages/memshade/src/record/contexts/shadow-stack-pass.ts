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

/** What calls do to the shadow stack: those below which an allocation can happen write frames, outside of the allocator. */
export class StackPlan extends CallPlan {
  readonly #roles: AllocatorRoles;

  constructor(module: WasmModule, scan: ModuleScan, allocator: AllocatorPlan) {
    const roles = new AllocatorRoles(module, allocator);
    const allocating = allocator.functions.filter(({ kind }) => kind !== "release");
    super(
      module,
      scan,
      allocating.map(({ index }) => index),
      // What the allocator asks of the host (memory, or to end it all) allocates nothing.
      (caller, callee) => callee < module.importedFunctionCount && roles.isInternal(caller),
    );
    this.#roles = roles;
  }

  /** Whether calls in this function may need frames at all. */
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

/** Local with the frame of the function at hand. */
const FRAME = LASTING_SCRATCH;

/** Keeps a shadow stack: frames around the calls that a plan wants them for. */
export class ShadowStackPass implements ToolPass {
  readonly everywhere = "wrappers";
  readonly #plan: StackPlan;
  readonly #stack: ShadowStack;
  readonly #functions: HostFrameFunctions;
  #state!: WalkState;
  #hasFrame = false;
  #hostWord = NO_LOCAL;

  /** First thing in a body: reads the shadow stack pointer, if any of its calls needs a frame. */
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
    // Else it may stay in the module.
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

  /** The function's local with the host word as it was. */
  #keptHostWord(): number {
    if (this.#hostWord === NO_LOCAL) this.#hostWord = extraLocal(this.#state.temporaries, I32);
    return this.#hostWord;
  }

  /** Before a call behind which the host stands elsewhere. */
  #keepHostWord(sink: SnippetSink, host: number): void {
    const { shadowMemory, frames } = this.#stack;
    pushPlace(sink, frames.hostWord);
    sink.access(Op.I32_LOAD, 2, shadowMemory, HOST_WORD);
    sink.local(Op.LOCAL_SET, host);
  }

  /** Before a call that may come back in. */
  #pushHost(sink: SnippetSink, site: number, leaves: boolean): void {
    this.#push(sink, site);
    this.#setHostWords(sink, 0, leaves);
  }

  /** Behind that call. */
  #putBack(sink: SnippetSink, leaves: boolean, host: number): void {
    const { shadowMemory, frames } = this.#stack;
    for (const word of hostWords(leaves)) {
      pushPlace(sink, frames.hostWord);
      sink.local(Op.LOCAL_GET, host);
      sink.access(Op.I32_STORE, 2, shadowMemory, word);
    }
  }

  /** All of that by calls: smaller and slower. */
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

  /** Before a call: its frame, which has the call site, and zero for the memo of its tree node, becomes the newest. */
  #push(sink: SnippetSink, site: number): void {
    sink.local(Op.LOCAL_GET, FRAME);
    sink.i64(site);
    sink.access(Op.I64_STORE, 3, this.#stack.shadowMemory, 0);
    sink.local(Op.LOCAL_GET, FRAME);
    sink.indexed(Op.GLOBAL_SET, this.#stack.stackGlobal);
  }

  /** Before a call inside a recursive component, of a wrapper, or a tail call: the callee takes the caller's frame. */
  #keep(sink: SnippetSink): void {
    sink.local(Op.LOCAL_GET, FRAME);
    sink.i32(-STACK_FRAME_BYTES);
    sink.plain(Op.I32_ADD);
    sink.indexed(Op.GLOBAL_SET, this.#stack.stackGlobal);
  }

  /** Before a tail call that may come back in. */
  #keepHost(sink: SnippetSink, leaves: boolean): void {
    this.#keep(sink);
    this.#setHostWords(sink, -STACK_FRAME_BYTES, leaves);
  }

  /** Where whoever comes in goes on: bytes from the empty stack to the frame, and `distance`. */
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

/** The words that a call sets: both if it certainly leaves the module. */
function hostWords(leaves: boolean): readonly number[] {
  return leaves ? BOTH_WORDS : HOST_WORD_ALONE;
}

const BOTH_WORDS = [HOST_WORD, ENTRY_WORD];
const HOST_WORD_ALONE = [HOST_WORD];
