import { ACCESS_BYTES, ACCESS_KIND, AccessKind, functionType, I32 } from "../../../../code/wasm/index.ts";
import * as Op from "../../../../code/wasm/op.generated.ts";
import { LARGE_FUNCTION_BYTES } from "../../../rewrite/facts/size-limits.ts";
import type { ToolPass, WalkState } from "../../../rewrite/tool.ts";
import { keepAddress } from "../../../rewrite/walk/keep-address.ts";
import { CONSTANT, NO_LOCAL, ValueClass } from "../../../rewrite/walk/value-numbers.ts";
import { type Insertion, type Insertions, OptionalInsertion } from "../../../rewrite/write/insertions.ts";
import type { SnippetSink } from "../../../rewrite/write/snippet-sink.ts";
import { extraLocal } from "../../../rewrite/write/temporaries.ts";
import { Countdown, type CountdownTargets } from "./countdown.ts";
import { alignmentHint } from "./marks/alignment-hint.ts";
import { KnownPlaces } from "./marks/known-places.ts";
import { LINE_SHIFT, writeLine } from "./marks/line-of-address.ts";
import { Kind, type Mark, PlaceGroup, type TestedMarks } from "./marks/place-group.ts";
import type { PollPlan } from "./poll-plan.ts";

type InsertMarks = (group: PlaceGroup, marks: Mark[], tested: TestedMarks | undefined) => void;

/** Most groups of one basic block that are open at once. A further one closes the others early. */
const MOST_GROUPS = 64;

/**
 * Collects the addresses that a basic block accesses, by base value. Each group is marked at its first access, once the
 * block ends. Lines that are known to be marked are not marked again.
 */
class LineMarks {
  readonly #insert: InsertMarks;
  readonly #pool: PlaceGroup[] = [];
  #open = 0;
  readonly #markedPlaces = new KnownPlaces();
  /** True if aligned accesses count as inside of one line. */
  readonly #trusted: boolean;
  /** True if marks may depend on a test of alignment, which is a branch. */
  #tests = true;

  constructor(trusted: boolean, insert: InsertMarks) {
    this.#trusted = trusted;
    this.#insert = insert;
  }

  /** Begins a function. `tests`: marks in it may get branches. */
  reset(tests: boolean): void {
    this.#tests = tests;
    this.#open = 0;
    this.#markedPlaces.forgetAll();
  }

  /**
   * Adds an access of `size` bytes at `base + offset`. Returns the group if it is new: the caller must then set its
   * local and positions.
   */
  access(
    base: number,
    offset: number,
    size: number,
    kinds: number,
    aligned: boolean,
  ): PlaceGroup | undefined {
    let missing = kinds & ~this.#markedPlaces.kindsAt(base, offset);
    const last = offset + size - 1;
    if (missing !== kinds && size > 1 && !(this.#trusted && aligned))
      missing |= kinds & ~this.#markedPlaces.kindsAt(base, last);
    if (missing === 0) return undefined;
    for (let i = this.#open - 1; i >= 0; i--) {
      const group = this.#pool[i];
      if (group.base !== base) continue;
      group.add(offset, size, missing, aligned);
      return undefined;
    }
    if (this.#open === MOST_GROUPS) this.endBlock();
    this.#pool[this.#open] ??= new PlaceGroup();
    const group = this.#pool[this.#open++];
    group.base = base;
    group.count = 0;
    group.add(offset, size, missing, aligned);
    return group;
  }

  /** Marks the open groups: all of their accesses have happened. */
  endBlock(): void {
    for (let i = 0; i < this.#open; i++) this.#finish(this.#pool[i]);
    this.#open = 0;
  }

  #finish(group: PlaceGroup): void {
    const { base, position } = group;
    const marks = group.marks(this.#trusted);
    const tested = this.#trusted || !this.#tests || base === CONSTANT ? undefined : group.testedMarks(marks);
    this.#insert(group, marks, tested);
    for (const { offset, kinds } of marks) this.#markedPlaces.add(base, offset, offset + 1, kinds, position);
  }

  forgetAll(): void {
    this.endBlock();
    this.#markedPlaces.forgetAll();
  }

  forgetSince(position: number): void {
    this.endBlock();
    this.#markedPlaces.forgetSince(position);
  }
}

/** Insertion that counts the accesses of a basic block. */
export class AccessCount implements Insertion {
  accesses = 0;
  readonly #countdown: Countdown;

  constructor(countdown: Countdown) {
    this.#countdown = countdown;
  }

  write(sink: SnippetSink): void {
    this.#countdown.advance(sink, this.accesses);
  }
}

export interface IntervalTargets extends CountdownTargets, MarkTargets {
  /** () → (): records the size of the program's memory. */
  noteSize: number;
  polls: PollPlan;
  /** Returns true if the host may call a function. */
  isEntered(index: number): boolean;
  /** Returns true if the host may have control when a function returns. */
  publishes(index: number): boolean;
  /** True if accesses that are aligned by their hint count as inside of one line. */
  assumeAligned: boolean;
  /** True if functions may end by exceptions, so that the countdown must not stay in their locals. */
  exceptions: boolean;
  /** Functions that take the countdown as a parameter and return it. */
  carriers: { has(index: number): boolean };
}

interface OpenLoop {
  poll: OptionalInsertion;
  calls: number;
  accesses: number;
  pollsInCall: boolean;
}

/** Fewest places that count accesses for which a function without calls keeps the countdown in a local. */
const FEWEST_PLACES = 2;

/**
 * Marks the line of every access, and counts accesses down to the next snapshot. Snapshots happen at the start of a
 * loop's trip and of recursive functions. Between two such positions a line needs one mark.
 *
 * The countdown is a global. A function keeps it in a local if it has loops without calls, or if it has no calls
 * and would change the countdown in several places.
 */
export class IntervalPass implements ToolPass {
  readonly everywhere = true;
  readonly #targets: IntervalTargets;
  readonly #marks: LineMarks;
  readonly #countdown: Countdown;
  #state!: WalkState;
  #loops: OpenLoop[] = [];
  #calls = 0;
  #accesses = 0;
  /** Counter of the current basic block, once it has an access. */
  #current: AccessCount | undefined;
  /** True while the walk is in the first block of the innermost loop. */
  #inHeader = false;
  #counts = 0;
  #polls: OptionalInsertion[] = [];
  /** Insertions that are needed only if the countdown is in a local. */
  #transfers: OptionalInsertion[] = [];
  /** True once a loop without calls was found: the countdown goes to a local. */
  #hasTightLoop = false;
  #isLeaf = true;
  /** True if the function takes the countdown as a parameter and returns it. */
  #carries = false;

  constructor(targets: IntervalTargets) {
    this.#targets = targets;
    this.#countdown = new Countdown(targets);
    const places = new MarkPlaces(new MarkWriter(targets), targets.lines);
    this.#marks = new LineMarks(targets.assumeAligned, (group, marks, tested) =>
      places.mark(this.#state.insertions, group, marks, tested),
    );
  }

  begin(state: WalkState, codeStart: number): void {
    this.#state = state;
    const { start, end } = state.module.bodies[state.function - state.module.importedFunctionCount];
    this.#marks.reset(end - start <= LARGE_FUNCTION_BYTES);
    this.#countdown.local = NO_LOCAL;
    this.#countdown.scratch = NO_LOCAL;
    this.#loops = [];
    this.#calls = 0;
    this.#accesses = 0;
    this.#current = undefined;
    this.#inHeader = false;
    this.#counts = 0;
    this.#polls = [];
    this.#transfers = [];
    this.#hasTightLoop = false;
    this.#isLeaf = true;
    this.#carries = this.#targets.carriers.has(state.function);
    if (this.#carries) this.#enter(codeStart);
    else this.#load(codeStart);
    if (this.#targets.isEntered(state.function)) this.#resume(codeStart);
    if (this.#targets.polls.pollsAtEntry(state.function)) this.#poll(codeStart);
  }

  /** Moves the countdown from the extra parameter, which has the index of the function's first local. */
  #enter(codeStart: number): void {
    const { module, locals, temporaries } = this.#state;
    const { params, results } = functionType(module, this.#state.function);
    temporaries.moreParameter = true;
    this.#add(codeStart, (sink) => {
      sink.local(Op.LOCAL_GET, params.length);
      sink.local(Op.LOCAL_SET, this.#countdown.local);
      if (locals.length > params.length) {
        sink.i32(0);
        sink.local(Op.LOCAL_SET, params.length);
      }
      // Branches out of the function lead to the end of this block.
      sink.open(Op.BLOCK, results[0] ?? NO_RESULT);
    });
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
    const hint = 1 << alignmentHint(module.bytes, start);
    const access = ACCESS_KIND[op];
    const both = access === AccessKind.Rmw || access === AccessKind.Cmpxchg;
    const kinds = both ? Kind.Both : access === AccessKind.Store ? Kind.Written : Kind.Read;
    // Distances wrap around in a 32-bit memory, as addresses do.
    const isWide = this.#targets.memory64 && base !== CONSTANT;
    const offset = isWide ? stack.offset[at] + (displacement >>> 0) : (stack.offset[at] + displacement) | 0;
    const group = this.#marks.access(base, offset, size, kinds, hint >= size);
    if (group === undefined) return;
    group.local = base === CONSTANT ? NO_LOCAL : keepAddress(this.#state, at, op, start);
    group.held = stack.offset[at];
    group.position = start;
    group.end = end;
  }

  #count(start: number): void {
    this.#accesses++;
    if (!this.#countdown.isVirtual) return;
    if (this.#current === undefined) {
      this.#current = new AccessCount(this.#countdown);
      this.#state.insertions.add(start, this.#current);
      this.#counts++;
    }
    this.#current.accesses++;
  }

  bulk(_op: number, _first: number, _second: number, start: number): void {
    this.#count(start);
    // Listeners of bulk instructions read the countdown.
    this.#save(start);
  }

  endBlock(): void {
    this.#current = undefined;
    this.#inHeader = false;
    this.#marks.endBlock();
  }

  merge(position: number): void {
    this.#marks.forgetSince(position);
  }

  enterLoop(body: number): void {
    this.#marks.forgetAll();
    this.#loops.push({
      poll: this.#poll(body),
      calls: this.#calls,
      accesses: this.#accesses,
      pollsInCall: false,
    });
    this.#inHeader = true;
  }

  leaveLoop(): void {
    this.endBlock();
    const loop = this.#loops.pop();
    if (loop === undefined) return;
    const isQuiet = this.#calls === loop.calls;
    const isEmpty = this.#accesses === loop.accesses;
    if (loop.pollsInCall || (isQuiet && isEmpty)) loop.poll.isLeftOut = true;
    else if (isQuiet) this.#hasTightLoop = true;
  }

  grow(_memory: number, _start: number, end: number): void {
    this.#add(end, (sink) => sink.indexed(Op.CALL, this.#targets.noteSize));
  }

  call(callee: number, tail: boolean, start: number, end: number): void {
    const { polls } = this.#targets;
    this.#isLeaf = false;
    if (polls.mayPoll(callee)) {
      // The call may be on the stack at a snapshot.
      if (!tail) this.#add(start, (sink) => sink.mark(start));
      this.#marks.forgetAll();
      const loop = this.#loops[this.#loops.length - 1];
      if (loop !== undefined && this.#inHeader && polls.pollsAtEntry(callee)) loop.pollsInCall = true;
    }
    const accesses = polls.mayAccess(callee);
    if (accesses) this.#calls++;
    // A call by reference may reach the host.
    const leadsOut = polls.isHost(callee) || callee < 0;
    if (!tail && (leadsOut || this.#targets.publishes(callee))) this.#resume(end);
    if (this.#targets.carriers.has(callee)) {
      this.#handOn(start);
      this.#add(end, (sink) => this.#countdown.take(sink));
      return;
    }
    if (accesses || polls.mayExit(callee)) this.#save(start);
    if (leadsOut) this.#publish(start);
    // The host may have grown the memory.
    if (!tail && callee >= 0 && callee < this.#state.module.importedFunctionCount)
      this.#add(end, (sink) => sink.indexed(Op.CALL, this.#targets.noteSize));
    if (!tail && accesses) this.#load(end);
  }

  leave(start: number): void {
    const opcode = this.#state.module.bytes[start];
    const throws = opcode === Op.THROW || opcode === Op.RETHROW || opcode === Op.THROW_REF;
    const publishes = throws || opcode === Op.UNREACHABLE || this.#targets.publishes(this.#state.function);
    if (this.#carries && opcode !== Op.UNREACHABLE) {
      // All other exits lead to the function's last `end`.
      if (opcode !== Op.RETURN) return;
      if (publishes) this.#publish(start);
      this.#handOn(start);
      return;
    }
    this.#save(start);
    if (publishes) this.#publish(start);
  }

  /** Inserted before the host gets control. */
  #publish(position: number): void {
    this.#add(position, (sink) => this.#countdown.publish(sink));
  }

  /** Inserted after the host may have had control. */
  #resume(position: number): void {
    this.#add(position, (sink) => this.#countdown.resume(sink));
  }

  /** Pushes the countdown as the last operand, before a call of a function that carries it, or a return from one. */
  #handOn(position: number): void {
    this.#state.insertions.addLate(position, { write: (sink) => this.#countdown.write(sink) });
  }

  end(): void {
    this.#marks.endBlock();
    const { temporaries } = this.#state;
    const { isVirtual } = this.#countdown;
    if (this.#accesses + this.#calls === 0) for (const poll of this.#polls) poll.isLeftOut = true;
    const staysInLocal = this.#hasTightLoop || (this.#isLeaf && this.#counts >= FEWEST_PLACES);
    const inLocal =
      this.#carries || (staysInLocal && isVirtual && !this.#targets.exceptions && this.#accesses > 0);
    if (this.#carries) this.#close();
    if (inLocal) this.#countdown.local = extraLocal(temporaries, I32);
    else {
      for (const transfer of this.#transfers) transfer.isLeftOut = true;
      if (isVirtual && this.#polls.some(({ isLeftOut }) => !isLeftOut))
        this.#countdown.scratch = extraLocal(temporaries, I32);
    }
  }

  /** Returns the countdown at the function's last `end`. */
  #close(): void {
    const { module, insertions, function: index } = this.#state;
    const body = module.bodies[index - module.importedFunctionCount];
    insertions.addLate(body.end - 1, {
      write: (sink) => {
        sink.end();
        if (this.#targets.publishes(index)) this.#countdown.publish(sink);
        this.#countdown.write(sink);
      },
    });
  }

  #poll(position: number): OptionalInsertion {
    const poll = new OptionalInsertion((sink) => {
      sink.mark(position);
      this.#countdown.poll(sink);
    });
    this.#state.insertions.add(position, poll);
    this.#polls.push(poll);
    return poll;
  }

  /** Moves the countdown from its global to the function's local, or back. */
  #load(position: number): void {
    this.#transfer(position, new OptionalInsertion((sink) => this.#countdown.load(sink)));
  }

  #save(position: number): void {
    this.#transfer(position, new OptionalInsertion((sink) => this.#countdown.save(sink)));
  }

  #transfer(position: number, transfer: OptionalInsertion): void {
    if (!this.#countdown.isVirtual) return;
    if (!this.#state.hasLoops && !this.#isLeaf && !this.#carries) return;
    this.#state.insertions.add(position, transfer);
    this.#transfers.push(transfer);
  }

  #add(position: number, write: (sink: SnippetSink) => void): void {
    this.#state.insertions.add(position, { write });
  }

  writeClock(sink: SnippetSink): void {
    this.#countdown.write(sink);
  }
}

interface MarkTargets {
  memory: number;
  memory64: boolean;
  lines: number;
  /** Shadow addresses of the planes of marks, by kinds of access. */
  planes: readonly number[];
}

/** Writes the code that marks lines: it stores a one at the line, in the plane of the access's kinds. */
class MarkWriter {
  readonly #targets: MarkTargets;
  constructor(targets: MarkTargets) {
    this.#targets = targets;
  }

  mark(sink: SnippetSink, local: number, displacement: number, kinds: number): void {
    writeLine(sink, this.#targets.memory64, local, displacement, this.#targets.lines);
    this.#store(sink, kinds);
  }

  markLine(sink: SnippetSink, line: number, kinds: number): void {
    sink.i32(0);
    sink.i32(1);
    sink.access(Op.I32_STORE8, 0, this.#targets.memory, this.#targets.planes[kinds] + line);
  }

  /** Pushes a value that is not zero if the address in a local plus a constant has one of the bits of `mask`. */
  isUnaligned(sink: SnippetSink, local: number, displacement: number, mask: number): void {
    sink.local(Op.LOCAL_GET, local);
    if (this.#targets.memory64) sink.plain(Op.I32_WRAP_I64);
    if (displacement !== 0) {
      sink.i32(displacement);
      sink.plain(Op.I32_ADD);
    }
    sink.i32(mask);
    sink.plain(Op.I32_AND);
  }

  #store(sink: SnippetSink, kinds: number): void {
    sink.i32(1);
    sink.access(Op.I32_STORE8, 0, this.#targets.memory, this.#targets.planes[kinds]);
  }
}

const NO_RESULT = 0x40;

class MarkPlaces {
  readonly #writer: MarkWriter;
  readonly #lines: number;

  constructor(writer: MarkWriter, lines: number) {
    this.#writer = writer;
    this.#lines = lines;
  }

  /** Marks a group at its first access. `tested`: the same marks with a test, if that takes fewer marks. */
  mark(insertions: Insertions, group: PlaceGroup, marks: Mark[], tested: TestedMarks | undefined): void {
    const { base, end } = group;
    const steps = base === CONSTANT ? this.#markLines(marks) : this.#markPlaces(group, marks, tested);
    // Inserted before the code that keeps the access's result.
    for (const step of steps) insertions.addEarly(end, step);
  }

  #markLines(marks: Mark[]): Insertion[] {
    return linesOf(marks, this.#lines).map(([line, kinds]) => ({
      write: (sink) => this.#writer.markLine(sink, line, kinds),
    }));
  }

  #markPlaces({ local, held }: PlaceGroup, marks: Mark[], tested: TestedMarks | undefined): Insertion[] {
    const mark = ({ offset, kinds }: Mark): Insertion => ({
      write: (sink) => this.#writer.mark(sink, local, offset - held, kinds),
    });
    if (tested === undefined) return marks.map(mark);
    const { always, unaligned, offset, mask } = tested;
    const displacement = (offset - held) & mask;
    const begin: Insertion = {
      write: (sink) => {
        this.#writer.isUnaligned(sink, local, displacement, mask);
        sink.rarely();
        sink.open(Op.IF, NO_RESULT);
      },
    };
    const end: Insertion = { write: (sink) => sink.end() };
    return [...always.map(mark), begin, ...unaligned.map(mark), end];
  }
}

/** Returns the lines of constant addresses, each once with all its kinds. Uncovered ones are left out. */
function linesOf(marks: readonly Mark[], lines: number): [line: number, kinds: number][] {
  const kindsOf = new Map<number, number>();
  for (const { offset, kinds } of marks) {
    const line = offset >>> LINE_SHIFT;
    if (line < lines) kindsOf.set(line, (kindsOf.get(line) ?? 0) | kinds);
  }
  return [...kindsOf];
}
