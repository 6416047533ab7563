import { ACCESS_BYTES, ACCESS_KIND, AccessKind, I32, opcodeId } from "../../wasm/index.ts";
import { InsertionKind } from "../insertions.ts";
import { keepAddress } from "../keep-address.ts";
import { mayAssign } from "../loop-assignments.ts";
import { isZero, LoopProgressions, type Progression } from "../loop-progressions.ts";
import type { ModuleScan } from "../module-scan.ts";
import { NO_LOCAL } from "../operand-stack.ts";
import type { SnippetSink } from "../snippet-sink.ts";
import { extraLocal } from "../temporaries.ts";
import type { ToolPass, WalkState } from "../tool-pass.ts";
import { CONSTANT, ValueClass } from "../value-numbers.ts";
import { CountRegions, NO_COUNT } from "./count-regions.ts";
import { Countdown, type CountdownTargets } from "./countdown.ts";
import { LineMarks, type MarkedGroup } from "./line-marks.ts";
import { LINE_SHIFT } from "./line-of-address.ts";
import { type MarkTargets, MarkWriter, type Span } from "./mark-writer.ts";
import { Kind, LINE_BYTES, type Mark, type PlaceGroup } from "./place-group.ts";
import type { PollPlan } from "./poll-plan.ts";

/** What the inserted code refers to, and what is known of the module as a whole. */
export interface IntervalTargets extends CountdownTargets, MarkTargets {
  polls: PollPlan;
  scan: ModuleScan;
  /** Accesses lie in one line where their alignment hint says so. */
  assumeAligned: boolean;
  /** Functions may end by exceptions: the countdown must not stay in their locals. */
  exceptions: boolean;
  /** () → (): notes how large the program's memory is. */
  noteSize: number;
}

/** What an insertion does: its operand `a`. */
const Op = {
  /** `b`: local with an address, `c`: constant to add, `d`: kinds. Marks the line. */
  Mark: 0,
  /** `b`: number of the line, `d`: kinds. */
  MarkLine: 1,
  /** Behind a loop. `b`: form of the address, `c`: bytes behind it that are touched too, `d`: kinds. */
  MarkFixed: 2,
  /** Behind a loop. `b`: index into `spans`. `Near`: its ends lie in all its lines. */
  MarkNear: 3,
  MarkFar: 9,
  /** Behind a loop. `b`: local with the number of trips, `c`: most trips of a short run. */
  IfMany: 10,
  Else: 11,
  EndIf: 12,
  /** Before a loop: a loop around it, of the same type, that polls. */
  OpenPolling: 14,
  /** First thing in a loop: leaves it for the loop around it where a poll is due. */
  LeaveIfDue: 15,
  /** `b`: accesses. */
  Advance: 4,
  /** `b`: local with the number of trips, `c`: accesses per trip. `Many`: where there are many trips. */
  AdvanceTrips: 5,
  AdvanceManyTrips: 13,
  /** `b`: accesses to count behind it, `c`: index into `hoisted` of what to mark again, plus one; 0 for nothing. */
  Poll: 6,
  /** The countdown goes from memory to the function's local, and back. */
  Load: 7,
  Save: 8,
  /** Nothing: a call that may be on the stack at a snapshot. */
  Call: 16,
  /** The program's memory may have grown. */
  NoteSize: 16,
} as const;

/** An open loop, innermost last. */
interface OpenLoop {
  /** The loop's number in the scan, and the position of its first instruction. */
  number: number;
  start: number;
  firstMarked: number;
  firstAdvance: number;
  poll: number;
  calls: number;
  accesses: number;
  /** Asks before the loop whether the interval has ended; −1: nothing was taken out of the loop. */
  entryPoll: number;
  /** The loop that may be put around it. */
  around: number;
  /** First branch inside, and whether there is something that cannot get another label. */
  firstBranch: number;
  isRigid: boolean;
  /** What was taken out of it. */
  hoisted: HoistedGroup[];
  /** Places inside where an interval may end, besides its own poll, were so many before it. */
  barriers: number;
  /** Each trip calls a function that polls where it begins. */
  pollsInCall: boolean;
}

/** A branch inside of a loop, and the number of blocks around it. */
interface Branch {
  start: number;
  end: number;
  depth: number;
}

/** A mark before a loop, of a line (`local` is `NO_LOCAL`) or of the address in a local plus `line`. */
interface HoistedMark {
  local: number;
  line: number;
  kinds: number;
}

/** A group before a loop, and what it takes to put it back. */
interface HoistedGroup {
  group: MarkedGroup;
  held: number;
  end: number;
}

/** A loop without snapshots: the local with its number of trips, and the accesses of each. */
export interface LoopSummary {
  trips: number;
  accesses: number;
}

/** Longest distance of two places that a span takes as one. */
const LONGEST_EXTRA = 64;
/** Places that move further per trip are marked where they are accessed, beside the loop's own work. */
const LONGEST_MOVED_STRIDE = 32;
/** Most marks that are taken out of one loop: its poll repeats them in one insertion of bounded size. */
const MOST_HOISTED = 6;
/** Labels that `InsertionKind.Relabel` has bits for. */
const DEEPEST_LABEL = 30;

const CALL = opcodeId("call");
const LOCAL_GET = opcodeId("local.get");
const I32_GT_U = opcodeId("i32.gt_u");
const IF = opcodeId("if");
const ELSE = opcodeId("else");
const UNREACHABLE = opcodeId("unreachable");
const BR = opcodeId("br");
const BR_IF = opcodeId("br_if");
const BR_TABLE = opcodeId("br_table");
const NO_RESULT = 0x40;

/**
 * Marks the line of every access, and counts accesses down to the next snapshot. Snapshots happen where loops begin a
 * trip and where recursive functions begin; between two such places a line needs one mark.
 *
 * The countdown lives in the tool's memory; a function with loops that call nothing keeps it in a local.
 */
export class IntervalPass implements ToolPass {
  readonly everywhere = true;
  readonly #targets: IntervalTargets;
  readonly #marks: LineMarks;
  readonly #writer: MarkWriter;
  readonly #countdown: Countdown;
  #progressions: LoopProgressions | undefined;
  #state!: WalkState;
  #kind = 0;
  #loops: OpenLoop[] = [];
  #spans: Span[] = [];
  /** Per loop, the places before it that its polls have to mark again. */
  #hoisted: HoistedMark[][] = [];
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
  #polls: number[] = [];
  /** Branches inside of the open loops. */
  #branches: Branch[] = [];
  /** A loop without calls was seen: the countdown goes to a local. */
  #hasTightLoop = false;
  /** Of the loop that was left last, if its marks have moved behind it. */
  summary: LoopSummary | undefined;

  constructor(targets: IntervalTargets) {
    this.#targets = targets;
    this.#countdown = new Countdown(targets);
    this.#writer = new MarkWriter(targets);
    this.#marks = new LineMarks(targets.assumeAligned, (group, marks) => this.#insertMarks(group, marks));
  }

  begin(state: WalkState, kind: number, codeStart: number): void {
    this.#state = state;
    this.#kind = kind;
    this.#marks.reset();
    this.#progressions ??= new LoopProgressions(state.insertions, state.values);
    this.#progressions.locals = state.locals;
    this.#loops = [];
    this.#spans = [];
    this.#hoisted = [];
    this.#calls = 0;
    this.#accesses = 0;
    this.#regions.begin();
    this.#blockPoll = -1;
    this.#goesOn = false;
    this.#inHeader = false;
    this.#advances = [];
    this.#transfers = [];
    this.#polls = [];
    this.#branches = [];
    this.#hasTightLoop = false;
    this.#countdown.local = NO_LOCAL;
    this.#countdown.scratch = NO_LOCAL;
    this.#transfer(codeStart, Op.Load);
    if (this.#targets.polls.pollsAtEntry(state.function)) this.#poll(codeStart);
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

  #insertMarks(group: PlaceGroup, marks: Mark[]): MarkedGroup {
    const { held, end } = group;
    const marked = { base: group.base, local: group.local, marks, insertions: [], isHoisted: false };
    if (!this.#inHeader || !this.#hoist(marked, group)) this.#markAt(marked, held, end);
    return marked;
  }

  /** Marks a group where it is accessed first, at `end`. */
  #markAt(group: MarkedGroup, held: number, end: number): void {
    const { base, local, marks } = group;
    group.isHoisted = false;
    group.insertions =
      base === CONSTANT
        ? linesOf(marks, this.#targets.lines).map(([line, kinds]) =>
            this.#add(end, Op.MarkLine, line, 0, kinds),
          )
        : marks.map(({ offset, kinds }) => this.#add(end, Op.Mark, local, (offset - held) | 0, kinds));
  }

  /**
   * Each trip of the innermost loop begins with accesses of this group. If its address stays the same, it is marked before
   * the loop, and again where an interval ends in the loop.
   */
  #hoist(marked: MarkedGroup, group: PlaceGroup): boolean {
    const loop = this.#loops[this.#loops.length - 1];
    const place = this.#placeBefore(loop, group);
    if (place === undefined) return false;
    const { marks } = marked;
    const { insertions } = this.#state;
    const again = this.#hoisted[insertions.c[loop.poll] - 1] ?? [];
    const wanted: HoistedMark[] =
      place.local === NO_LOCAL
        ? linesOf(marks, this.#targets.lines).map(([line, kinds]) => ({ local: NO_LOCAL, line, kinds }))
        : marks.map(({ offset, kinds }) => ({
            local: place.local,
            line: (offset - place.held) | 0,
            kinds,
          }));
    if (again.length + wanted.length > MOST_HOISTED) return false;
    if (again.length === 0) {
      insertions.c[loop.poll] = this.#hoisted.push(again);
      // Marks of what the loop is about to access belong to the interval that the loop begins in.
      this.#state.insertions.kind[loop.entryPoll] = this.#kind;
      this.#polls.push(loop.entryPoll);
    }
    again.push(...wanted);
    marked.insertions = wanted.map(({ local, line, kinds }) =>
      local === NO_LOCAL
        ? this.#add(loop.start, Op.MarkLine, line, 0, kinds)
        : this.#add(loop.start, Op.Mark, local, line, kinds),
    );
    marked.isHoisted = true;
    loop.hoisted.push({ group: marked, held: group.held, end: group.end });
    return true;
  }

  /** Intervals may end elsewhere in the loop too: what it accesses is marked in each trip. */
  #putBack(loop: OpenLoop): void {
    for (const { group, held, end } of loop.hoisted) {
      for (const insertion of group.insertions) this.#remove(insertion);
      this.#markAt(group, held, end);
    }
    this.#state.insertions.c[loop.poll] = 0;
    this.#remove(loop.entryPoll);
  }

  /** A local that the loop does not assign and the distance of the address in it; undefined if there is none. */
  #placeBefore(
    loop: OpenLoop,
    { base, local, held }: PlaceGroup,
  ): { local: number; held: number } | undefined {
    if (base === CONSTANT) return { local: NO_LOCAL, held: 0 };
    const { values, locals } = this.#state;
    const { scan } = this.#targets;
    if (local < locals.length && !mayAssign(scan, loop.number, local)) return { local, held };
    const origin = values.origin[base];
    if (origin < 0 || values.localValue[origin] !== base || mayAssign(scan, loop.number, origin))
      return undefined;
    return { local: origin, held: values.localOffset[origin] };
  }

  /** One access more in this region. */
  #count(start: number): void {
    this.#accesses++;
    if (!this.#countdown.isVirtual) return;
    const regions = this.#regions;
    if (regions.current === NO_COUNT) {
      regions.current = this.#blockPoll >= 0 ? this.#blockPoll : this.#add(start, Op.Advance);
      this.#advances.push(regions.current);
    }
    this.#state.insertions.b[regions.current]++;
  }

  bulk(_op: number, _first: number, _second: number, start: number): void {
    this.#count(start);
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
    const { control, loop } = this.#state;
    this.#regions.goOn(control, this.#barriers);
    const start = control.start[control.top];
    this.#loops.push({
      number: loop,
      start,
      firstMarked: this.#marks.marked.length,
      firstAdvance: this.#advances.length,
      poll: this.#poll(body),
      calls: this.#calls,
      accesses: this.#accesses,
      around: this.#placeholder(start, Op.OpenPolling, start, body),
      entryPoll: this.#placeholder(start, Op.Poll),
      firstBranch: this.#branches.length,
      isRigid: control.params[control.top] > 0,
      hoisted: [],
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
    if (this.#barriers > loop.barriers) this.#putBack(loop);
    if (oneBlock && this.#summarize(loop, end)) {
      this.#marks.forgetAll();
      this.#barriers = loop.barriers - 1;
      return;
    }
    if (loop.pollsInCall) {
      this.#withoutPoll(loop);
      return;
    }
    if (!quiet) return;
    if (this.#accesses > loop.accesses) {
      this.#hasTightLoop = true;
      if (this.#barriers === loop.barriers) this.#pollAround(loop, end);
    }
    if (this.#accesses === loop.accesses) {
      this.#remove(loop.poll);
      this.#barriers = loop.barriers - 1;
    }
  }

  /** Each trip calls a function that polls: the loop need not. */
  #withoutPoll({ poll }: OpenLoop): void {
    const { a, b } = this.#state.insertions;
    if (b[poll] > 0) a[poll] = Op.Advance;
    else this.#remove(poll);
  }

  branch(start: number, end: number): void {
    this.#regions.branch(this.#state.control, this.#barriers, start);
    const loop = this.#loops[this.#loops.length - 1];
    if (loop === undefined) return;
    const opcode = this.#state.module.bytes[start];
    if (opcode === BR || opcode === BR_IF || opcode === BR_TABLE)
      this.#branches.push({ start, end, depth: this.#state.control.top });
    else for (const open of this.#loops) open.isRigid = true;
  }

  /**
   * A loop that calls nothing had better be without the poll's call too: engines keep its variables in registers then. So
   * the poll goes to a loop around it, which is continued where one is due.
   */
  #pollAround(loop: OpenLoop, end: number): void {
    const { control, insertions } = this.#state;
    const { top } = control;
    const inside = this.#branches.slice(loop.firstBranch);
    if (loop.isRigid || inside.some(({ depth }) => depth - top > DEEPEST_LABEL)) return;
    for (const branch of inside) {
      const bit = 1 << (branch.depth - top);
      insertions.add(branch.start, InsertionKind.Relabel, branch.end - branch.start, bit);
    }
    insertions.kind[loop.around] = this.#kind;
    insertions.kind[loop.entryPoll] = this.#kind;
    if (!this.#polls.includes(loop.entryPoll)) this.#polls.push(loop.entryPoll);
    // The block behind the header counts its own accesses.
    const accesses = insertions.b[loop.poll];
    insertions.a[loop.poll] = Op.LeaveIfDue;
    insertions.b[loop.poll] = 0;
    if (accesses > 0) this.#add(insertions.key[loop.poll] >>> 1, Op.Advance, accesses);
    this.#add(end, Op.EndIf);
  }

  setGlobal(): number {
    return -1;
  }

  grow(_memory: number, _start: number, end: number): void {
    this.#add(end, Op.NoteSize);
  }

  call(callee: number, tail: boolean, start: number, end: number): void {
    const { polls, exceptions } = this.#targets;
    const { control } = this.#state;
    this.#regions.goOn(control, this.#barriers);
    const mayPoll = polls.mayPoll(callee);
    if (mayPoll) {
      if (!tail) this.#add(start, Op.Call);
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
    this.#transfer(start, Op.Save);
    if (!tail && accesses) this.#transfer(end, Op.Load);
  }

  leave(start: number): void {
    // At a trap, it does not matter any more what was counted ahead.
    if (this.#state.module.bytes[start] !== UNREACHABLE)
      this.#regions.leave(this.#state.control, this.#barriers);
    this.#transfer(start, Op.Save);
  }

  end(): void {
    this.#marks.endBlock();
    const { temporaries, insertions } = this.#state;
    const isVirtual = this.#countdown.isVirtual;
    if (this.#accesses + this.#calls === 0) for (const poll of this.#polls) this.#remove(poll);
    const inLocal = this.#hasTightLoop && isVirtual && !this.#targets.exceptions && this.#accesses > 0;
    if (inLocal) this.#countdown.local = extraLocal(temporaries, I32);
    else {
      for (const transfer of this.#transfers) this.#remove(transfer);
      if (isVirtual && this.#polls.some((poll) => insertions.kind[poll] === this.#kind))
        this.#countdown.scratch = extraLocal(temporaries, I32);
    }
  }

  /**
   * Moves the marks of a loop of one basic block behind it where that is possible. Such a loop ends within as many
   * trips as its strides fit into memory, so it goes without snapshots. False: it stays as it is.
   */
  #summarize(loop: OpenLoop, end: number): boolean {
    const progressions = this.#progressions as LoopProgressions;
    const { control, temporaries, insertions } = this.#state;
    const { marked } = this.#marks;
    progressions.begin(control);
    const moved: { group: MarkedGroup; progression: Progression }[] = [];
    for (let i = loop.firstMarked; i < marked.length; i++) {
      const { base, marks, local, isHoisted } = marked[i];
      if (isHoisted) continue;
      const progression = progressions.of(base, marks[0].offset, local);
      if (progression !== undefined && progression.stride.terms.length === 0)
        moved.push({ group: marked[i], progression });
    }
    const bounded = moved.find(({ progression: { stride } }) => stride.constant !== 0);
    if (bounded === undefined) return false;
    const trips = progressions.countTrips(control, end, bounded.progression, temporaries);
    this.#remove(loop.poll);
    this.#remove(loop.entryPoll);
    let accesses = 0;
    for (let i = loop.firstAdvance; i < this.#advances.length; i++) {
      accesses += insertions.b[this.#advances[i]];
      this.#remove(this.#advances[i]);
    }
    const firstSpan = this.#spans.length;
    for (const { group, progression } of moved)
      if (Math.abs(progression.stride.constant) <= LONGEST_MOVED_STRIDE)
        this.#moveMarks(group, progression, trips, end);
    this.#endSummarized(end, trips, accesses, firstSpan);
    this.summary = { trips, accesses };
    return true;
  }

  /** Behind a loop: short runs are marked by the ends of their spans, long ones by calls. */
  #endSummarized(end: number, trips: number, accesses: number, firstSpan: number): void {
    let few = LINE_BYTES;
    for (let span = firstSpan; span < this.#spans.length; span++) {
      const { stride, extra } = this.#spans[span];
      few = Math.min(few, Math.floor((LINE_BYTES - extra) / Math.abs(stride)) + 1);
    }
    const counts = this.#countdown.isVirtual && accesses > 0;
    if (!counts && firstSpan === this.#spans.length) return;
    this.#add(end, Op.IfMany, trips, few);
    for (const many of [true, false]) {
      for (let span = firstSpan; span < this.#spans.length; span++)
        this.#add(end, many ? Op.MarkFar : Op.MarkNear, span);
      if (counts) this.#add(end, many ? Op.AdvanceManyTrips : Op.AdvanceTrips, trips, accesses);
      this.#add(end, many ? Op.Else : Op.EndIf);
    }
  }

  /** Marks of one kind whose distance is small become one span. */
  #moveMarks({ marks, insertions }: MarkedGroup, first: Progression, trips: number, end: number): void {
    for (const insertion of insertions) this.#remove(insertion);
    for (const kinds of [Kind.Read, Kind.Written, Kind.Both]) {
      const places = marks.filter((mark) => mark.kinds === kinds).map(({ offset }) => offset);
      for (let i = 0; i < places.length; ) {
        const from = places[i];
        let extra = 0;
        for (i++; i < places.length && places[i] - from <= LONGEST_EXTRA; i++) extra = places[i] - from;
        const shift = (from - marks[0].offset) | 0;
        const address = { terms: first.end.terms, constant: (first.end.constant + shift) | 0 };
        if (isZero(first.stride)) {
          const form = this.#state.insertions.forms.push(address) - 1;
          this.#add(end, Op.MarkFixed, form, extra, kinds);
        } else {
          const span = { end: address, stride: first.stride.constant, trips, extra, kinds };
          this.#spans.push(span);
        }
      }
    }
  }

  /** An insertion that is none until its kind is set. */
  #placeholder(position: number, op: number, b = 0, c = 0): number {
    const insertion = this.#add(position, op, b, c);
    this.#remove(insertion);
    return insertion;
  }

  #poll(position: number): number {
    const poll = this.#add(position, Op.Poll);
    this.#polls.push(poll);
    this.#blockPoll = poll;
    return poll;
  }

  #transfer(position: number, op: number): void {
    if (this.#state.hasLoops && this.#countdown.isVirtual) this.#transfers.push(this.#add(position, op));
  }

  #add(position: number, op: number, b = 0, c = 0, d = 0): number {
    return this.#state.insertions.add(position, this.#kind, op, b, c, d);
  }

  #remove(insertion: number): void {
    this.#state.insertions.remove(insertion);
  }

  /** Pushes the countdown. */
  writeClock(sink: SnippetSink): void {
    this.#countdown.write(sink);
  }

  write(sink: SnippetSink, entry: number): void {
    const { a, b, c, d, forms } = this.#state.insertions;
    const writer = this.#writer;
    switch (a[entry]) {
      case Op.Mark:
        writer.mark(sink, b[entry], c[entry], d[entry]);
        return;
      case Op.MarkLine:
        writer.markLine(sink, b[entry], d[entry]);
        return;
      case Op.MarkFixed:
        writer.markFixed(sink, forms[b[entry]], c[entry], d[entry]);
        return;
      case Op.MarkNear:
      case Op.MarkFar:
        writer.markSpan(sink, this.#spans[b[entry]], a[entry] === Op.MarkNear);
        return;
      case Op.IfMany:
        sink.local(LOCAL_GET, b[entry]);
        sink.i32(c[entry]);
        sink.plain(I32_GT_U);
        sink.open(IF, NO_RESULT);
        return;
      case Op.OpenPolling:
        sink.copy(b[entry], c[entry]);
        return;
      case Op.LeaveIfDue:
        this.#countdown.isDue(sink);
        sink.indexed(BR_IF, 1);
        return;
      case Op.Else:
        sink.plain(ELSE);
        return;
      case Op.EndIf:
        sink.end();
        return;
      case Op.Advance:
        this.#countdown.advance(sink, b[entry]);
        return;
      case Op.AdvanceTrips:
      case Op.AdvanceManyTrips:
        this.#countdown.advanceTrips(sink, b[entry], c[entry], a[entry] === Op.AdvanceManyTrips);
        return;
      case Op.Call:
        sink.mark(this.#state.insertions.key[entry] >>> 1);
        return;
      case Op.Poll:
        sink.mark(this.#state.insertions.key[entry] >>> 1);
        this.#countdown.poll(sink, b[entry], () => {
          for (const { local, line, kinds } of this.#hoisted[c[entry] - 1] ?? [])
            if (local === NO_LOCAL) writer.markLine(sink, line, kinds);
            else writer.mark(sink, local, line, kinds);
        });
        return;
      case Op.Load:
        this.#countdown.load(sink);
        return;
      case Op.Save:
        this.#countdown.save(sink);
        return;
      case Op.NoteSize:
        sink.indexed(CALL, this.#targets.noteSize);
    }
  }
}

/** The alignment, as a power of two, that the access at `start` promises. */
export function alignmentHint(bytes: Uint8Array, start: number): number {
  let at = start;
  const prefixed = bytes[at] >= 0xfb && bytes[at] <= 0xfe;
  at++;
  if (prefixed) {
    while (bytes[at] > 127) at++;
    at++;
  }
  return bytes[at] & 31;
}

/** The lines of constant addresses, each once with all its kinds; those that are not followed left out. */
function linesOf(marks: readonly Mark[], lines: number): [line: number, kinds: number][] {
  const kindsOf = new Map<number, number>();
  for (const { offset, kinds } of marks) {
    const line = offset >>> LINE_SHIFT;
    if (line < lines) kindsOf.set(line, (kindsOf.get(line) ?? 0) | kinds);
  }
  return [...kindsOf];
}
