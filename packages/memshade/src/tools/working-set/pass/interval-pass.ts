import type { ToolPass, WalkState } from "../../../rewrite/tool.ts";
import { keepAddress } from "../../../rewrite/walk/keep-address.ts";
import { NO_LOCAL } from "../../../rewrite/walk/operand-stack.ts";
import { CONSTANT, ValueClass } from "../../../rewrite/walk/value-numbers.ts";
import type { SnippetSink } from "../../../rewrite/write/snippet-sink.ts";
import { extraLocal } from "../../../rewrite/write/temporaries.ts";
import { ACCESS_BYTES, ACCESS_KIND, AccessKind, functionType, I32 } from "../../../wasm/index.ts";
import * as Op from "../../../wasm/op.generated.ts";
import { Insert, IntervalCode, type IntervalCodeTargets } from "./interval-code.ts";
import { alignmentHint } from "./marks/alignment-hint.ts";
import { LineMarks } from "./marks/line-marks.ts";
import { insertMarks } from "./marks/mark-places.ts";
import { type LoopSummary, MovedMarks, type SummarizedLoop } from "./marks/moved-marks.ts";
import { Kind } from "./marks/place-group.ts";
import type { PollPlan } from "./poll-plan.ts";

/** What the inserted code refers to, and what is known of the module as a whole. */
export interface IntervalTargets extends IntervalCodeTargets {
  polls: PollPlan;
  /** Accesses lie in one line where their alignment hint says so. */
  assumeAligned: boolean;
  /** Functions may end by exceptions: the countdown must not stay in their locals. */
  exceptions: boolean;
  /** Functions that take the countdown and give it back. */
  carriers: { has(index: number): boolean };
}

/** An open loop, innermost last. */
interface OpenLoop extends SummarizedLoop {
  calls: number;
  accesses: number;
  /** Each trip calls a function that polls where it begins. */
  pollsInCall: boolean;
}

/** Nothing counts the accesses of the basic block yet. */
const NO_COUNT = -1;

/** A function that calls nothing keeps the countdown in a local from so many places on that count accesses. */
const FEWEST_PLACES = 2;

/** Block type without results. */
const NO_RESULT = 0x40;

/**
 * Marks the line of every access, and counts accesses down to the next snapshot. Snapshots happen where loops begin a
 * trip and where recursive functions begin; between two such places a line needs one mark.
 *
 * The countdown is a global; a function with loops that call nothing keeps it in a local, and so does one that calls nothing
 * and would change it in several places.
 */
export class IntervalPass implements ToolPass {
  readonly everywhere = true;
  readonly #targets: IntervalTargets;
  readonly #marks: LineMarks;
  readonly #code: IntervalCode;
  readonly #moved: MovedMarks;
  #state!: WalkState;
  #loops: OpenLoop[] = [];
  /** Calls of functions that may access memory. */
  #calls = 0;
  #accesses = 0;
  /** The insertion that counts the accesses of the basic block at hand, `NO_COUNT` if there is none yet. */
  #current = NO_COUNT;
  /** The walk is in the block that each trip of the innermost loop begins with. */
  #inHeader = false;
  /** Insertions that count accesses, in program order. */
  #advances: number[] = [];
  /** Insertions that only make sense where the countdown is in a local. */
  #transfers: number[] = [];
  /** A loop without calls was seen: the countdown goes to a local. */
  #hasTightLoop = false;
  /** No call was seen. */
  #isLeaf = true;
  /** The function takes the countdown and gives it back. */
  #carries = false;
  /** Of the loop that was left last, if its marks have moved behind it. */
  summary: LoopSummary | undefined;

  constructor(targets: IntervalTargets) {
    this.#targets = targets;
    this.#code = new IntervalCode(targets);
    this.#moved = new MovedMarks(this.#code);
    this.#marks = new LineMarks(targets.assumeAligned, (group, marks, tested) =>
      insertMarks(this.#code, targets.lines, group, marks, tested),
    );
  }

  begin(state: WalkState, kind: number, codeStart: number): void {
    this.#state = state;
    this.#marks.reset();
    this.#code.begin(state.insertions, kind);
    this.#moved.begin(state);
    this.#loops = [];
    this.#calls = 0;
    this.#accesses = 0;
    this.#current = NO_COUNT;
    this.#inHeader = false;
    this.#advances = [];
    this.#transfers = [];
    this.#hasTightLoop = false;
    this.#isLeaf = true;
    this.#carries = this.#targets.carriers.has(state.function);
    if (this.#carries) this.#enter(codeStart);
    else this.#transfer(codeStart, Insert.Load);
    if (this.#targets.polls.pollsAtEntry(state.function)) this.#code.addPoll(codeStart);
  }

  /** Takes the countdown from where the function's first local will be. */
  #enter(codeStart: number): void {
    const { module, locals, temporaries } = this.#state;
    const { params, results } = functionType(module, this.#state.function);
    temporaries.moreParameter = true;
    const hasLocals = locals.length > params.length ? 1 : 0;
    this.#code.add(codeStart, Insert.Enter, params.length, results[0] ?? NO_RESULT, hasLocals);
  }

  access(op: number, at: number, displacement: number, start: number, end: number): void {
    const { stack, values, insertions, temporaries, module } = this.#state;
    this.#count(start);
    let base = stack.value[at];
    if (base === 0) {
      base = values.fresh(ValueClass.Unknown, NO_LOCAL);
      stack.value[at] = base;
    }
    const size = ACCESS_BYTES[op];
    const hint = 1 << alignmentHint(module.bytes, start);
    const access = ACCESS_KIND[op];
    const both = access === AccessKind.Rmw || access === AccessKind.Cmpxchg;
    const kinds = both ? Kind.Both : access === AccessKind.Store ? Kind.Written : Kind.Read;
    const offset = (stack.offset[at] + displacement) | 0;
    const group = this.#marks.access(base, offset, size, kinds, hint >= size);
    if (group === undefined) return;
    group.local =
      base === CONSTANT ? NO_LOCAL : keepAddress(stack, values, insertions, temporaries, at, op, start);
    group.held = stack.offset[at];
    group.position = start;
    group.end = end;
  }

  /** One access more in this block. */
  #count(start: number): void {
    this.#accesses++;
    if (!this.#code.countdown.isVirtual) return;
    if (this.#current === NO_COUNT) {
      this.#current = this.#code.add(start, Insert.Advance);
      this.#advances.push(this.#current);
    }
    this.#state.insertions.b[this.#current]++;
  }

  bulk(_op: number, _first: number, _second: number, start: number): void {
    this.#count(start);
    // Who listens to it looks at the countdown.
    this.#transfer(start, Insert.Save);
  }

  endBlock(): void {
    this.#current = NO_COUNT;
    this.#inHeader = false;
    this.#marks.endBlock();
  }

  merge(position: number): void {
    this.#marks.forgetSince(position);
  }

  enterLoop(body: number): void {
    this.#marks.forgetAll();
    this.#loops.push({
      firstMarked: this.#marks.marked.length,
      firstAdvance: this.#advances.length,
      poll: this.#code.addPoll(body),
      calls: this.#calls,
      accesses: this.#accesses,
      pollsInCall: false,
    });
    this.#inHeader = true;
  }

  leaveLoop(_start: number, end: number, oneBlock: boolean): void {
    this.endBlock();
    this.summary = undefined;
    const loop = this.#loops.pop();
    if (loop !== undefined) this.#finishLoop(loop, end, oneBlock);
  }

  #finishLoop(loop: OpenLoop, end: number, oneBlock: boolean): void {
    const isQuiet = this.#calls === loop.calls;
    if (oneBlock) this.summary = this.#moved.summarize(loop, end, this.#marks.marked, this.#advances);
    if (this.summary !== undefined) {
      this.#marks.forgetAll();
      if (this.#loops.length === 0) this.#code.addPollBehind(end);
      return;
    }
    const isEmpty = this.#accesses === loop.accesses;
    if (loop.pollsInCall || (isQuiet && isEmpty)) this.#code.remove(loop.poll);
    else if (isQuiet) this.#hasTightLoop = true;
  }

  setGlobal(): number {
    return -1;
  }

  grow(_memory: number, _start: number, end: number): void {
    this.#code.add(end, Insert.NoteSize);
  }

  call(callee: number, tail: boolean, start: number, end: number): void {
    const { polls } = this.#targets;
    this.#isLeaf = false;
    if (polls.mayPoll(callee)) {
      if (!tail) this.#code.add(start, Insert.Call);
      this.#marks.forgetAll();
      const loop = this.#loops[this.#loops.length - 1];
      if (loop !== undefined && this.#inHeader && polls.pollsAtEntry(callee)) loop.pollsInCall = true;
    }
    const accesses = polls.mayAccess(callee);
    if (accesses) this.#calls++;
    if (this.#targets.carriers.has(callee)) {
      this.#code.addBefore(start, Insert.Pass);
      this.#code.add(end, Insert.TakeBack);
      return;
    }
    if (accesses || polls.mayExit(callee)) this.#transfer(start, Insert.Save);
    if (polls.isHost(callee)) this.#publish(start);
    if (!tail && accesses) this.#transfer(end, Insert.Load);
  }

  leave(start: number): void {
    const opcode = this.#state.module.bytes[start];
    const throws = opcode === Op.THROW || opcode === Op.RETHROW || opcode === Op.THROW_REF;
    if (this.#carries && opcode !== Op.UNREACHABLE) {
      if (opcode === Op.RETURN) this.#code.addBefore(start, Insert.Return);
      return;
    }
    this.#transfer(start, Insert.Save);
    if (throws || opcode === Op.UNREACHABLE) this.#publish(start);
  }

  #publish(position: number): void {
    if (this.#code.countdown.isVirtual) this.#code.add(position, Insert.Publish);
  }

  end(): void {
    this.#marks.endBlock();
    const { temporaries } = this.#state;
    const isVirtual = this.#code.countdown.isVirtual;
    if (this.#accesses + this.#calls === 0) for (const poll of this.#code.polls) this.#code.remove(poll);
    const staysInLocal = this.#hasTightLoop || (this.#isLeaf && this.#countsInPlaces(FEWEST_PLACES));
    const inLocal =
      this.#carries || (staysInLocal && isVirtual && !this.#targets.exceptions && this.#accesses > 0);
    if (this.#carries) {
      const { module } = this.#state;
      const body = module.bodies[this.#state.function - module.importedFunctionCount];
      this.#code.addBefore(body.end - 1, Insert.Close);
    }
    if (inLocal) this.#code.countdown.local = extraLocal(temporaries, I32);
    else {
      for (const transfer of this.#transfers) this.#code.remove(transfer);
      if (isVirtual && this.#code.polls.some((poll) => this.#code.isIn(poll)))
        this.#code.countdown.scratch = extraLocal(temporaries, I32);
    }
  }

  /** Whether there are so many places where accesses are counted. */
  #countsInPlaces(places: number): boolean {
    let left = places;
    for (const advance of this.#advances) if (this.#code.isIn(advance) && --left === 0) return true;
    return false;
  }

  #transfer(position: number, op: number): void {
    if ((this.#state.hasLoops || this.#isLeaf || this.#carries) && this.#code.countdown.isVirtual)
      this.#transfers.push(this.#code.add(position, op));
  }

  /** Pushes the countdown. */
  writeClock(sink: SnippetSink): void {
    this.#code.countdown.write(sink);
  }

  write(sink: SnippetSink, entry: number): void {
    this.#code.write(sink, entry);
  }
}
