import type { ToolPass, WalkState } from "../rewrite/tool.ts";
import { NO_LOCAL } from "../rewrite/walk/operand-stack.ts";
import { InsertionKind } from "../rewrite/write/insertions.ts";
import type { SnippetSink } from "../rewrite/write/snippet-sink.ts";
import { extraLocal, LASTING_SCRATCH } from "../rewrite/write/temporaries.ts";
import { I32 } from "../wasm/index.ts";
import * as Op from "../wasm/op.generated.ts";
import { CallTreatment } from "./call-plan.ts";
import { pushPlace } from "./frame-base.ts";
import type { HostFrameFunctions, ShadowStack } from "./host-frame-functions.ts";
import { ENTRY_WORD, HOST_WORD, STACK_FRAME_BYTES } from "./layout.ts";
import type { StackPlan } from "./stack-plan.ts";

/** What the pass inserts: numbers behind its first kind. */
const Step = {
  /** First thing in a body: reads the shadow stack pointer. */
  Prologue: 0,
  /** `a`: call site. Before a call: writes the caller's frame and moves the shadow stack pointer past it. */
  Push: 1,
  /** Before a call inside a recursive component, of a wrapper, or a tail call: the callee takes the caller's frame. */
  Keep: 2,
  /**
   * `a`: call site, `b`: local that keeps the host word, `c`: 1 if the call certainly leaves the module. As Push, before a
   * call that may come back in.
   */
  PushHost: 3,
  /** `a`: that local, `b`: as `c` of the push. After a call that left the module. */
  Return: 4,
  /** `a`: 1 if it certainly leaves the module. A tail call that may come back in. */
  KeepHost: 5,
  /** As PushHost and Return, by calls: smaller and slower. */
  PushHostOutlined: 6,
  ReturnOutlined: 7,
} as const;

/** Local with the frame of the function at hand. */
const FRAME = LASTING_SCRATCH;

/** Keeps a shadow stack: frames around the calls that a plan wants them for. */
export class ShadowStackPass implements ToolPass {
  readonly everywhere = "wrappers";
  readonly #plan: StackPlan;
  readonly #stack: ShadowStack;
  readonly #functions: HostFrameFunctions;
  #state!: WalkState;
  #kind = 0;
  #prologue = -1;
  #hasFrame = false;
  #hostWord = NO_LOCAL;

  constructor(plan: StackPlan, stack: ShadowStack, functions: HostFrameFunctions) {
    this.#plan = plan;
    this.#stack = stack;
    this.#functions = functions;
  }

  begin(state: WalkState, kind: number, codeStart: number): void {
    this.#state = state;
    this.#kind = kind;
    this.#hasFrame = false;
    this.#hostWord = NO_LOCAL;
    this.#prologue = this.#plan.hasFrames(state.function)
      ? state.insertions.add(codeStart, kind + Step.Prologue)
      : -1;
  }

  call(callee: number, tail: boolean, start: number, end: number): void {
    const { function: caller, insertions, module, temporaries, openLoops } = this.#state;
    const treatment = this.#plan.treatment(caller, callee, tail);
    if (treatment === CallTreatment.None) return;
    this.#hasFrame = true;
    const kind = this.#kind;
    const site = start - module.codePayloadStart;
    const leaves = callee < 0 ? 0 : 1;
    if (treatment === CallTreatment.Keep) insertions.add(start, kind + Step.Keep);
    else if (treatment === CallTreatment.KeepHost) insertions.add(start, kind + Step.KeepHost, leaves);
    else if (treatment === CallTreatment.Push) insertions.add(start, kind + Step.Push, site);
    else {
      if (this.#hostWord === NO_LOCAL) this.#hostWord = extraLocal(temporaries, I32);
      const outlined = openLoops === 0;
      insertions.add(
        start,
        kind + (outlined ? Step.PushHostOutlined : Step.PushHost),
        site,
        this.#hostWord,
        leaves,
      );
      insertions.add(end, kind + (outlined ? Step.ReturnOutlined : Step.Return), this.#hostWord, leaves);
    }
  }

  end(): void {
    if (this.#hasFrame) this.#state.temporaries.scratch = true;
    else if (this.#prologue >= 0) this.#state.insertions.kind[this.#prologue] = InsertionKind.None;
  }

  write(sink: SnippetSink, entry: number): void {
    const { a, b, c, kind } = this.#state.insertions;
    const { shadowMemory, stackGlobal, frames } = this.#stack;
    switch (kind[entry] - this.#kind) {
      case Step.Prologue:
        sink.indexed(Op.GLOBAL_GET, stackGlobal);
        sink.i32(STACK_FRAME_BYTES);
        sink.plain(Op.I32_ADD);
        sink.local(Op.LOCAL_SET, FRAME);
        break;
      case Step.Push:
        this.#push(sink, a[entry]);
        break;
      case Step.Keep:
        this.#keep(sink);
        break;
      case Step.KeepHost:
        this.#keep(sink);
        this.#setHostWords(sink, -STACK_FRAME_BYTES, a[entry] === 1);
        break;
      case Step.PushHost:
        pushPlace(sink, frames.hostWord);
        sink.access(Op.I32_LOAD, 2, shadowMemory, HOST_WORD);
        sink.local(Op.LOCAL_SET, b[entry]);
        this.#push(sink, a[entry]);
        this.#setHostWords(sink, 0, c[entry] === 1);
        break;
      case Step.Return:
        for (const word of hostWords(b[entry] === 1)) {
          pushPlace(sink, frames.hostWord);
          sink.local(Op.LOCAL_GET, a[entry]);
          sink.access(Op.I32_STORE, 2, shadowMemory, word);
        }
        break;
      case Step.PushHostOutlined:
        sink.local(Op.LOCAL_GET, FRAME);
        sink.i64(a[entry]);
        sink.indexed(Op.CALL, this.#functions.push(c[entry] === 1));
        sink.local(Op.LOCAL_SET, b[entry]);
        break;
      default:
        sink.local(Op.LOCAL_GET, a[entry]);
        sink.indexed(Op.CALL, this.#functions.returned());
    }
  }

  /** Frame: the call site, and zero for the memo of its tree node. */
  #push(sink: SnippetSink, site: number): void {
    sink.local(Op.LOCAL_GET, FRAME);
    sink.i64(site);
    sink.access(Op.I64_STORE, 3, this.#stack.shadowMemory, 0);
    sink.local(Op.LOCAL_GET, FRAME);
    sink.indexed(Op.GLOBAL_SET, this.#stack.stackGlobal);
  }

  /** The caller's frame becomes the newest. */
  #keep(sink: SnippetSink): void {
    sink.local(Op.LOCAL_GET, FRAME);
    sink.i32(-STACK_FRAME_BYTES);
    sink.plain(Op.I32_ADD);
    sink.indexed(Op.GLOBAL_SET, this.#stack.stackGlobal);
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
