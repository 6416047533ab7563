import type { ToolPass, WalkState } from "../../../rewrite/tool.ts";
import { keepAddress } from "../../../rewrite/walk/keep-address.ts";
import { NO_LOCAL } from "../../../rewrite/walk/operand-stack.ts";
import { CONSTANT, ValueClass } from "../../../rewrite/walk/value-numbers.ts";
import type { SnippetSink } from "../../../rewrite/write/snippet-sink.ts";
import { extraLocal } from "../../../rewrite/write/temporaries.ts";
import { ACCESS_BYTES, ACCESS_KIND, AccessKind, functionType, I32 } from "../../../wasm/index.ts";
import * as Op from "../../../wasm/op.generated.ts";
import { CountRegions, NO_COUNT } from "./count-regions.ts";
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
  /** Places inside where an interval may end, besides its own poll, were so many before it. */
  barriers: number;
  /** Each trip calls a function that polls where it begins. */
  pollsInCall: boolean;
}

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
  /** Places so far where an interval may end. */
  #barriers = 0;
  /** What one insertion counts. */
  readonly #regions = new CountRegions(() => this.#state.module.bytes);
  /** The walk is in the block that each trip of the innermost loop begins with. */
  #inHeader = false;
  /** A poll with nothing but the block at hand behind it: it counts the block's accesses; −1 if there is none. */
  #blockPoll = -1;
  /** Where the last block ended. */
  #blockEnd = 0;
  /** The next end of a block is behind a call that came back. */
  #goesOn = false;
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
    this.#regions.begin();
    this.#blockPoll = -1;
    this.#goesOn = false;
    this.#inHeader = false;
    this.#advances = [];
    this.#transfers = [];
    this.#hasTightLoop = false;
    this.#isLeaf = true;
    this.#carries = this.#targets.carriers.has(state.function);
    if (this.#carries) this.#enter(codeStart);
    else this.#transfer(codeStart, Insert.Load);
    if (this.#targets.polls.pollsAtEntry(state.function)) this.#poll(codeStart);
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

  /** One access more in this region. */
  #count(start: number): void {
    this.#accesses++;
    if (!this.#code.countdown.isVirtual) return;
    const regions = this.#regions;
    if (regions.current === NO_COUNT) {
      regions.current = this.#blockPoll >= 0 ? this.#blockPoll : this.#code.add(start, Insert.Advance);
      this.#advances.push(regions.current);
    }
    this.#state.insertions.b[regions.current]++;
  }

  bulk(_op: number, _first: number, _second: number, start: number): void {
    this.#count(start);
    // Who listens to it looks at the countdown.
    this.#transfer(start, Insert.Save);
  }

  endBlock(position: number): void {
    if (this.#goesOn) this.#goesOn = false;
    else {
      this.#regions.endBlock(this.#state.control, this.#barriers);
      this.#blockEnd = position;
      this.#inHeader = false;
      this.#blockPoll = -1;
    }
    this.#marks.endBlock();
  }

  merge(position: number): void {
    this.#marks.forgetSince(position);
    if (!this.#targets.exceptions) this.#regions.merge(this.#state.control, this.#barriers, this.#blockEnd);
  }

  enterLoop(body: number): void {
    this.#marks.forgetAll();
    this.#regions.goOn(this.#state.control, this.#barriers);
    this.#loops.push({
      firstMarked: this.#marks.marked.length,
      firstAdvance: this.#advances.length,
      poll: this.#poll(body),
      calls: this.#calls,
      accesses: this.#accesses,
      barriers: ++this.#barriers,
      pollsInCall: false,
    });
    this.#inHeader = true;
  }

  leaveLoop(start: number, end: number, oneBlock: boolean): void {
    this.endBlock(start);
    this.summary = undefined;
    const loop = this.#loops.pop();
    if (loop === undefined) return;
    this.#finishLoop(loop, end, oneBlock);
    this.#regions.leaveLoop(this.#state.control, this.#barriers);
  }

  #finishLoop(loop: OpenLoop, end: number, oneBlock: boolean): void {
    const quiet = this.#calls === loop.calls;
    if (oneBlock) this.summary = this.#moved.summarize(loop, end, this.#marks.marked, this.#advances);
    if (this.summary !== undefined) {
      this.#marks.forgetAll();
      if (this.#loops.length === 0) this.#pollBehind(end);
      else this.#barriers = loop.barriers - 1;
      return;
    }
    if (loop.pollsInCall) {
      this.#withoutPoll(loop);
      return;
    }
    if (!quiet) return;
    if (this.#accesses > loop.accesses) this.#hasTightLoop = true;
    else {
      this.#code.remove(loop.poll);
      this.#barriers = loop.barriers - 1;
    }
  }

  /** Each trip calls a function that polls: the loop need not. */
  #withoutPoll({ poll }: OpenLoop): void {
    const { a, b } = this.#state.insertions;
    if (b[poll] > 0) a[poll] = Insert.Advance;
    else this.#code.remove(poll);
  }

  branch(start: number): void {
    this.#regions.branch(this.#state.control, this.#barriers, start);
  }

  setGlobal(): number {
    return -1;
  }

  grow(_memory: number, _start: number, end: number): void {
    this.#code.add(end, Insert.NoteSize);
  }

  call(callee: number, tail: boolean, start: number, end: number): void {
    const { polls, exceptions } = this.#targets;
    const { control } = this.#state;
    this.#isLeaf = false;
    this.#regions.goOn(control, this.#barriers);
    const mayPoll = polls.mayPoll(callee);
    if (mayPoll) {
      if (!tail) this.#code.add(start, Insert.Call);
      this.#marks.forgetAll();
      const loop = this.#loops[this.#loops.length - 1];
      const eachTrip = this.#inHeader || this.#regions.current === loop?.poll;
      if (loop !== undefined && eachTrip && polls.pollsAtEntry(callee)) loop.pollsInCall = true;
      this.#barriers++;
    }
    // The end of the block that the walk is about to tell of does not end the region.
    this.#goesOn = !mayPoll && !tail && !exceptions && !polls.mayExit(callee);
    if (tail || polls.mayExit(callee)) this.#regions.leave(control, this.#barriers);
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
    // At a trap, it does not matter any more what was counted ahead.
    if (opcode !== Op.UNREACHABLE) this.#regions.leave(this.#state.control, this.#barriers);
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

  #poll(position: number): number {
    const poll = this.#code.add(position, Insert.Poll);
    this.#code.polls.push(poll);
    this.#blockPoll = poll;
    return poll;
  }

  /** Behind a walk that no loop around polls for, and behind what other passes do there. */
  #pollBehind(position: number): void {
    const poll = this.#code.addBefore(position, Insert.Poll);
    this.#code.polls.push(poll);
    this.#blockPoll = poll;
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
