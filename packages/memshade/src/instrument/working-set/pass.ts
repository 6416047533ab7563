import { ACCESS_BYTES, ACCESS_KIND, AccessKind, I32, opcodeId } from "../../wasm/index.ts";
import type { LinearForm } from "../insertions.ts";
import { keepAddress } from "../keep-address.ts";
import { isZero, LoopProgressions, type Progression } from "../loop-progressions.ts";
import { NO_LOCAL } from "../operand-stack.ts";
import type { SnippetSink } from "../snippet-sink.ts";
import { extraLocal } from "../temporaries.ts";
import type { ToolPass, WalkState } from "../tool-pass.ts";
import { CONSTANT, ValueClass } from "../value-numbers.ts";
import { Touches } from "./touches.ts";

/** Indices and addresses in the instrumented module that the inserted code refers to. */
export interface TouchTargets {
  memory: number;
  memory64: boolean;
  /** Lines there are; the one behind them stands for addresses that are not followed. */
  lines: number;
  /** Shadow address of the marks of lines written; those of lines read begin at 0. */
  written: number;
  /** Shadow address of the countdown. */
  clock: number;
  /** Shadow address of the flag that real time sets; −1: time is virtual. */
  flag: number;
  poll: number;
  pollFlag: number;
  advance: number;
  touchRange: number;
  touchStrided: number;
  /** Accesses lie in one line where their alignment hint says so. */
  assumeAligned: boolean;
  /** Functions may end by exceptions: the countdown must not stay in their locals. */
  exceptions: boolean;
}

/** What an insertion does: its operand `a`. */
const Op = {
  /** `b`: local with an address, `c`: constant to add, `d`: 1 for a store. Marks the line. */
  Touch: 0,
  /** `b`: number of the line, `d`: 1 for a store. */
  TouchLine: 1,
  /** Behind a loop. `b`: form of the address, `c`: bytes behind it that are touched too, `d`: 1 for a store. */
  TouchFixed: 2,
  /** Behind a loop. `b`: index into `spans`. */
  TouchSpan: 3,
  /** `b`: accesses. */
  Advance: 4,
  /** `b`: local with the number of trips, `c`: accesses per trip. */
  AdvanceTrips: 5,
  Poll: 6,
  /** The countdown goes from memory to the function's local, and back. */
  Load: 7,
  Save: 8,
} as const;

/** Places that a loop touched in equal steps. */
interface Span {
  end: LinearForm;
  stride: LinearForm;
  trips: number;
  extra: number;
  writes: number;
}

/** An open loop, innermost last. */
interface OpenLoop {
  firstTouch: number;
  firstAdvance: number;
  poll: number;
  calls: number;
}

const LOCAL_GET = opcodeId("local.get");
const LOCAL_SET = opcodeId("local.set");
const CALL = opcodeId("call");
const I32_LOAD = opcodeId("i32.load");
const I32_STORE = opcodeId("i32.store");
const I32_STORE8 = opcodeId("i32.store8");
const I32_ADD = opcodeId("i32.add");
const I32_SUB = opcodeId("i32.sub");
const I32_MUL = opcodeId("i32.mul");
const I32_SHR_U = opcodeId("i32.shr_u");
const I32_LE_S = opcodeId("i32.le_s");
const I32_WRAP_I64 = opcodeId("i32.wrap_i64");
const I64_ADD = opcodeId("i64.add");
const I64_SHR_U = opcodeId("i64.shr_u");
const I64_EQZ = opcodeId("i64.eqz");
const SELECT = 0x1b;
const IF = opcodeId("if");
const NO_RESULT = 0x40;
const LINE_SHIFT = 6;
/** Longest distance of two places that `touchStrided` takes as one. */
const LONGEST_EXTRA = 64;
const LONGEST_MOVED_STRIDE = 32;

/**
 * Marks the line of every access, and counts accesses down to the next snapshot. Snapshots happen where functions
 * begin and where loops do; between two such places a line needs one mark.
 *
 * The countdown lives in the tool's memory; a function with loops that call nothing keeps it in a local.
 */
export class WorkingSetPass implements ToolPass {
  readonly everywhere = true;
  readonly #targets: TouchTargets;
  readonly #touches = new Touches();
  #progressions: LoopProgressions | undefined;
  #state!: WalkState;
  #kind = 0;
  #loops: OpenLoop[] = [];
  #spans: Span[] = [];
  #calls = 0;
  #accesses = 0;
  /** Insertion that counts the accesses of this block, −1 if there is none yet. */
  #advance = -1;
  /** Insertions that count accesses, in program order. */
  #advances: number[] = [];
  /** Insertions that only make sense where the countdown is in a local. */
  #transfers: number[] = [];
  #entryPoll = -1;
  #entryLoad = -1;
  #polls: number[] = [];
  /** A loop without calls was seen: the countdown goes to a local. */
  #hasTightLoop = false;
  #clockLocal = NO_LOCAL;

  constructor(targets: TouchTargets) {
    this.#targets = targets;
  }

  get #isVirtual(): boolean {
    return this.#targets.flag < 0;
  }

  begin(state: WalkState, kind: number, codeStart: number): void {
    this.#state = state;
    this.#kind = kind;
    this.#touches.reset();
    this.#progressions ??= new LoopProgressions(state.insertions, state.values);
    this.#progressions.locals = state.locals;
    this.#loops = [];
    this.#spans = [];
    this.#calls = 0;
    this.#accesses = 0;
    this.#advance = -1;
    this.#advances = [];
    this.#transfers = [];
    this.#polls = [];
    this.#hasTightLoop = false;
    this.#clockLocal = NO_LOCAL;
    this.#entryLoad = this.#add(codeStart, Op.Load);
    this.#transfers.push(this.#entryLoad);
    this.#entryPoll = this.#add(codeStart, Op.Poll);
    this.#polls.push(this.#entryPoll);
  }

  access(op: number, at: number, displacement: number, start: number, end: number): void {
    const { stack, values, module } = this.#state;
    this.#count(start);
    let base = stack.value[at];
    if (base === 0) {
      base = values.fresh(ValueClass.Unknown, NO_LOCAL);
      stack.value[at] = base;
    }
    const size = ACCESS_BYTES[op];
    const { assumeAligned } = this.#targets;
    const hint = 1 << (module.bytes[end - this.#memargBytes(start, end)] & 63);
    const single = size === 1 || (assumeAligned && hint >= size);
    const kind = ACCESS_KIND[op];
    const both = kind === AccessKind.Rmw || kind === AccessKind.Cmpxchg;
    const writes = kind === AccessKind.Store || both ? 1 : 0;
    for (let w = both ? 0 : writes; w <= writes; w++) {
      this.#touch(op, at, base, displacement, 0, w, start, end);
      if (!single) this.#touch(op, at, base, displacement, size - 1, w, start, end);
    }
  }

  /** Bytes from the alignment hint to the end of the access. */
  #memargBytes(start: number, end: number): number {
    const { bytes } = this.#state.module;
    let at = start;
    const prefixed = bytes[at] >= 0xfb && bytes[at] <= 0xfe;
    at++;
    if (prefixed) {
      while (bytes[at] > 127) at++;
      at++;
    }
    return end - at;
  }

  #touch(
    op: number,
    at: number,
    base: number,
    displacement: number,
    within: number,
    writes: number,
    start: number,
    end: number,
  ): void {
    const { stack, values, insertions, temporaries } = this.#state;
    const touches = this.#touches;
    const offset = (stack.offset[at] + displacement + within) | 0;
    if (touches.covers(base, offset, writes)) return;
    let insertion: number;
    let local = NO_LOCAL;
    if (base === CONSTANT) {
      const line = offset >>> LINE_SHIFT;
      if (line >= this.#targets.lines) return;
      insertion = this.#add(end, Op.TouchLine, line, 0, writes);
    } else {
      local = keepAddress(stack, values, insertions, temporaries, at, op, start);
      insertion = this.#add(end, Op.Touch, local, (displacement + within) | 0, writes);
    }
    touches.add(base, offset, writes, local, insertion, start);
    for (let old = touches.superfluous(base, writes); old >= 0; old = touches.superfluous(base, writes)) {
      touches.gone[old] = 1;
      this.#remove(touches.insertion[old]);
    }
  }

  /** One access more in this block. */
  #count(start: number): void {
    this.#accesses++;
    if (!this.#isVirtual) return;
    if (this.#advance >= 0) this.#state.insertions.b[this.#advance]++;
    else {
      this.#advance = this.#add(start, Op.Advance, 1);
      this.#advances.push(this.#advance);
    }
  }

  bulk(_op: number, _first: number, _second: number, start: number): void {
    this.#count(start);
  }

  endBlock(): void {
    this.#advance = -1;
    this.#touches.endBlock();
  }

  merge(position: number): void {
    this.#touches.forgetSince(position);
  }

  enterLoop(body: number): void {
    this.#advance = -1;
    this.#touches.forgetAll();
    const poll = this.#add(body, Op.Poll);
    this.#polls.push(poll);
    this.#loops.push({
      firstTouch: this.#touches.length,
      firstAdvance: this.#advances.length,
      poll,
      calls: this.#calls,
    });
  }

  leaveLoop(_start: number, end: number, oneBlock: boolean): void {
    const loop = this.#loops.pop();
    if (loop === undefined) return;
    const counts = this.#advances.length > loop.firstAdvance;
    if (oneBlock && this.#summarize(loop, end)) this.#touches.forgetAll();
    else if (counts && this.#calls === loop.calls) this.#hasTightLoop = true;
    this.#advance = -1;
  }

  setGlobal(): number {
    return -1;
  }

  grow(): void {}

  call(_callee: number, tail: boolean, start: number, end: number): void {
    this.#calls++;
    this.#touches.forgetAll();
    this.#transfer(start, Op.Save);
    if (!tail) this.#transfer(end, Op.Load);
  }

  leave(start: number): void {
    this.#transfer(start, Op.Save);
  }

  end(): void {
    if (this.#accesses === 0) for (const poll of this.#polls) this.#remove(poll);
    const tight = this.#hasTightLoop && this.#isVirtual && !this.#targets.exceptions && this.#accesses > 0;
    if (tight) this.#clockLocal = extraLocal(this.#state.temporaries, I32);
    else for (const transfer of this.#transfers) this.#remove(transfer);
  }

  /**
   * Moves the touches of a loop of one basic block behind it where that is possible. Such a loop ends within as many
   * trips as its strides fit into memory, so it goes without snapshots. False: it stays as it is.
   */
  #summarize(loop: OpenLoop, end: number): boolean {
    const progressions = this.#progressions as LoopProgressions;
    const { control, temporaries, insertions } = this.#state;
    const touches = this.#touches;
    progressions.begin(control);
    const moved: { touch: number; progression: Progression }[] = [];
    for (let touch = loop.firstTouch; touch < touches.length; touch++) {
      if (touches.gone[touch] === 1 || touches.base[touch] === CONSTANT) continue;
      const { base, offset, local } = touches;
      const progression = progressions.of(base[touch], offset[touch], local[touch]);
      if (progression !== undefined) moved.push({ touch, progression });
    }
    const bounded = moved.find(
      ({ progression: { stride } }) => stride.terms.length === 0 && stride.constant !== 0,
    );
    if (bounded === undefined) return false;
    const trips = progressions.countTrips(control, end, bounded.progression, temporaries);
    this.#remove(loop.poll);
    for (let i = loop.firstAdvance; i < this.#advances.length; i++) {
      const advance = this.#advances[i];
      this.#add(end, Op.AdvanceTrips, trips, insertions.b[advance]);
      this.#remove(advance);
    }
    this.#moveTouches(
      moved.filter(({ progression: { stride } }) => movesOften(stride)),
      trips,
      end,
    );
    return true;
  }

  /** Places of one base whose distance is small become one span. */
  #moveTouches(moved: { touch: number; progression: Progression }[], trips: number, end: number): void {
    const { base, offset, writes, insertion } = this.#touches;
    const order = [...moved].sort(
      (a, b) =>
        writes[a.touch] - writes[b.touch] ||
        base[a.touch] - base[b.touch] ||
        offset[a.touch] - offset[b.touch],
    );
    for (let i = 0; i < order.length; ) {
      const first = order[i];
      this.#remove(insertion[first.touch]);
      let extra = 0;
      for (i++; i < order.length; i++) {
        const { touch } = order[i];
        const distance = offset[touch] - offset[first.touch];
        if (writes[touch] !== writes[first.touch] || base[touch] !== base[first.touch]) break;
        if (distance > LONGEST_EXTRA) break;
        extra = distance;
        this.#remove(insertion[touch]);
      }
      this.#addSpan(first.progression, trips, extra, writes[first.touch], end);
    }
  }

  #addSpan(progression: Progression, trips: number, extra: number, writes: number, position: number): void {
    const { end, stride } = progression;
    if (isZero(stride)) {
      const form = this.#state.insertions.forms.push(end) - 1;
      this.#add(position, Op.TouchFixed, form, extra, writes);
    } else {
      const span = this.#spans.push({ end, stride, trips, extra, writes }) - 1;
      this.#add(position, Op.TouchSpan, span);
    }
  }

  #transfer(position: number, op: number): void {
    if (this.#state.hasLoops && this.#isVirtual) this.#transfers.push(this.#add(position, op));
  }

  #add(position: number, op: number, b = 0, c = 0, d = 0): number {
    return this.#state.insertions.add(position, this.#kind, op, b, c, d);
  }

  #remove(insertion: number): void {
    this.#state.insertions.remove(insertion);
  }

  write(sink: SnippetSink, entry: number): void {
    const { a, b, c, d, forms } = this.#state.insertions;
    const targets = this.#targets;
    switch (a[entry]) {
      case Op.Touch:
        this.#line(sink, b[entry], c[entry]);
        sink.i32(1);
        sink.access(I32_STORE8, 0, targets.memory, d[entry] === 1 ? targets.written : 0);
        return;
      case Op.TouchLine:
        sink.i32(0);
        sink.i32(1);
        sink.access(I32_STORE8, 0, targets.memory, (d[entry] === 1 ? targets.written : 0) + b[entry]);
        return;
      case Op.TouchFixed:
        writeForm(sink, forms[b[entry]]);
        sink.i32(c[entry] + 1);
        sink.i32(d[entry]);
        sink.indexed(CALL, targets.touchRange);
        return;
      case Op.TouchSpan: {
        const { end, stride, trips, extra, writes } = this.#spans[b[entry]];
        writeForm(sink, end);
        writeForm(sink, stride);
        sink.local(LOCAL_GET, trips);
        sink.i32(extra);
        sink.i32(writes);
        sink.indexed(CALL, targets.touchStrided);
        return;
      }
      case Op.Advance:
        this.#change(sink, () => {
          sink.i32(b[entry]);
          sink.plain(I32_SUB);
        });
        return;
      case Op.AdvanceTrips:
        this.#change(sink, () => {
          sink.local(LOCAL_GET, b[entry]);
          sink.i32(c[entry]);
          sink.indexed(CALL, targets.advance);
        });
        return;
      case Op.Poll:
        this.#writePoll(sink);
        return;
      case Op.Load:
        sink.i32(0);
        sink.access(I32_LOAD, 2, targets.memory, targets.clock);
        sink.local(LOCAL_SET, this.#clockLocal);
        return;
      case Op.Save:
        sink.i32(0);
        sink.local(LOCAL_GET, this.#clockLocal);
        sink.access(I32_STORE, 2, targets.memory, targets.clock);
    }
  }

  /** The line of the address in a local plus a constant. */
  #line(sink: SnippetSink, local: number, displacement: number): void {
    const { memory64, lines } = this.#targets;
    if (!memory64) {
      sink.local(LOCAL_GET, local);
      if (displacement !== 0) {
        sink.i32(displacement);
        sink.plain(I32_ADD);
      }
      sink.i32(LINE_SHIFT);
      sink.plain(I32_SHR_U);
      return;
    }
    // Lines above 4 GiB have one mark that nobody reads.
    const shifted = (bits: number): void => {
      sink.local(LOCAL_GET, local);
      if (displacement !== 0) {
        sink.i64(BigInt(displacement >>> 0));
        sink.plain(I64_ADD);
      }
      sink.i64(BigInt(bits));
      sink.plain(I64_SHR_U);
    };
    shifted(LINE_SHIFT);
    sink.plain(I32_WRAP_I64);
    sink.i32(lines);
    shifted(32);
    sink.plain(I64_EQZ);
    sink.plain(SELECT);
  }

  /** countdown = change(countdown) */
  #change(sink: SnippetSink, change: () => void): void {
    const { memory, clock } = this.#targets;
    if (this.#clockLocal !== NO_LOCAL) {
      sink.local(LOCAL_GET, this.#clockLocal);
      change();
      sink.local(LOCAL_SET, this.#clockLocal);
      return;
    }
    sink.i32(0);
    sink.i32(0);
    sink.access(I32_LOAD, 2, memory, clock);
    change();
    sink.access(I32_STORE, 2, memory, clock);
  }

  #writePoll(sink: SnippetSink): void {
    const { memory, clock, flag, poll, pollFlag } = this.#targets;
    if (!this.#isVirtual) {
      sink.i32(0);
      sink.access(I32_LOAD, 2, memory, flag);
      sink.open(IF, NO_RESULT);
      sink.indexed(CALL, pollFlag);
      sink.end();
      return;
    }
    if (this.#clockLocal !== NO_LOCAL) {
      sink.local(LOCAL_GET, this.#clockLocal);
      sink.i32(0);
      sink.plain(I32_LE_S);
      sink.open(IF, NO_RESULT);
      sink.local(LOCAL_GET, this.#clockLocal);
      sink.indexed(CALL, poll);
      sink.local(LOCAL_SET, this.#clockLocal);
      sink.end();
      return;
    }
    sink.i32(0);
    sink.access(I32_LOAD, 2, memory, clock);
    sink.i32(0);
    sink.plain(I32_LE_S);
    sink.open(IF, NO_RESULT);
    sink.i32(0);
    sink.i32(0);
    sink.access(I32_LOAD, 2, memory, clock);
    sink.indexed(CALL, poll);
    sink.access(I32_STORE, 2, memory, clock);
    sink.end();
  }
}

/** Whether one mark stands for several trips: wider steps are marked where they happen, beside the loop's own work. */
function movesOften({ terms, constant }: LinearForm): boolean {
  return terms.length === 0 && Math.abs(constant) <= LONGEST_MOVED_STRIDE;
}

function writeForm(sink: SnippetSink, form: LinearForm): void {
  let pushed = false;
  for (const { local, factor } of form.terms) {
    sink.local(LOCAL_GET, local);
    if (factor !== 1) {
      sink.i32(factor);
      sink.plain(I32_MUL);
    }
    if (pushed) sink.plain(I32_ADD);
    pushed = true;
  }
  if (pushed && form.constant === 0) return;
  sink.i32(form.constant);
  if (pushed) sink.plain(I32_ADD);
}
