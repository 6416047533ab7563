import { NO_LOCAL } from "../../../rewrite/walk/operand-stack.ts";
import type { Insertions } from "../../../rewrite/write/insertions.ts";
import type { SnippetSink } from "../../../rewrite/write/snippet-sink.ts";
import * as Op from "../../../wasm/op.generated.ts";
import { Countdown, type CountdownTargets } from "./countdown.ts";
import { type MarkTargets, MarkWriter, type Span } from "./marks/mark-writer.ts";

/** What an insertion does: its operand `a`. */
export const Insert = {
  /** `b`: local with an address, `c`: constant to add, `d`: kinds. Marks the line. */
  Mark: 0,
  /** `b`: number of the line, `d`: kinds. */
  MarkLine: 1,
  /** Behind a loop. `b`: form of the address, `c`: bytes behind it that are touched too, `d`: kinds. */
  MarkFixed: 2,
  /** Behind a loop. `b`: index into `spans`. `Near`: its ends lie in all its lines. */
  MarkNear: 3,
  MarkFar: 4,
  /** Behind a loop. `b`: local with the number of trips, `c`: most trips of a short run. */
  IfMany: 5,
  Else: 6,
  EndIf: 7,
  /** `b`: local with an address, `c`: constant to add, `d`: bits that are zero where it is aligned. */
  IfUnaligned: 8,
  /** `b`: accesses. */
  Advance: 9,
  /** `b`: local with the number of trips, `c`: accesses per trip. `Many`: where there are many trips. */
  AdvanceTrips: 10,
  AdvanceManyTrips: 11,
  Poll: 12,
  /** The countdown goes from its global to the function's local, and back. */
  Load: 13,
  Save: 14,
  /** Before a call of the host. */
  Publish: 15,
  /** First thing in a function that carries the countdown. `b`: its parameter, `c`: block type of its body, `d`: 1 if locals follow. */
  Enter: 16,
  /** Before a return of such a function, and in the place of its last `end`. */
  Return: 17,
  Close: 18,
  /** Before a call of such a function, and behind it. */
  Pass: 19,
  TakeBack: 20,
  /** Nothing: a call that may be on the stack at a snapshot. */
  Call: 21,
  /** The program's memory may have grown. */
  NoteSize: 22,
} as const;

/** What the inserted code refers to. */
export interface IntervalCodeTargets extends CountdownTargets, MarkTargets {
  /** () → (): notes how large the program's memory is. */
  noteSize: number;
}

const NO_RESULT = 0x40;

/** The insertions of one function that mark lines, count accesses and poll, and what they mean in code. */
export class IntervalCode {
  readonly #targets: IntervalCodeTargets;
  readonly #writer: MarkWriter;
  readonly countdown: Countdown;
  insertions!: Insertions;
  #kind = 0;
  /** What `MarkNear` and `MarkFar` refer to. */
  spans: Span[] = [];
  polls: number[] = [];

  constructor(targets: IntervalCodeTargets) {
    this.#targets = targets;
    this.countdown = new Countdown(targets);
    this.#writer = new MarkWriter(targets);
  }

  /** A function begins, whose insertions of this tool have the given kind. */
  begin(insertions: Insertions, kind: number): void {
    this.insertions = insertions;
    this.#kind = kind;
    this.spans = [];
    this.polls = [];
    this.countdown.local = NO_LOCAL;
    this.countdown.scratch = NO_LOCAL;
  }

  add(position: number, op: number, b = 0, c = 0, d = 0): number {
    return this.insertions.add(position, this.#kind, op, b, c, d);
  }

  /** Behind an access, before what keeps its result. */
  addBehind(end: number, op: number, b = 0, c = 0, d = 0): number {
    return this.insertions.addEarly(end, this.#kind, op, b, c, d);
  }

  /** In front of a loop or a call, behind what others put there. */
  addBefore(position: number, op: number, b = 0, c = 0, d = 0): number {
    return this.insertions.addLate(position, this.#kind, op, b, c, d);
  }

  addPoll(position: number): number {
    return this.#notePoll(this.add(position, Insert.Poll));
  }

  /** Behind a walk that no loop around polls for, and behind what other passes do there. */
  addPollBehind(position: number): void {
    this.#notePoll(this.addBefore(position, Insert.Poll));
  }

  #notePoll(poll: number): number {
    this.polls.push(poll);
    return poll;
  }

  remove(insertion: number): void {
    this.insertions.remove(insertion);
  }

  isIn(insertion: number): boolean {
    return this.insertions.kind[insertion] === this.#kind;
  }

  /** Writes an insertion; see `ToolPass.write`. */
  write(sink: SnippetSink, entry: number): void {
    const { a, b, c, d, forms, key } = this.insertions;
    const writer = this.#writer;
    switch (a[entry]) {
      case Insert.Mark:
        writer.mark(sink, b[entry], c[entry], d[entry]);
        return;
      case Insert.MarkLine:
        writer.markLine(sink, b[entry], d[entry]);
        return;
      case Insert.MarkFixed:
        writer.markFixed(sink, forms[b[entry]], c[entry], d[entry]);
        return;
      case Insert.MarkNear:
      case Insert.MarkFar:
        writer.markSpan(sink, this.spans[b[entry]], a[entry] === Insert.MarkNear);
        return;
      case Insert.IfMany:
        sink.local(Op.LOCAL_GET, b[entry]);
        sink.i32(c[entry]);
        sink.plain(Op.I32_GT_U);
        sink.open(Op.IF, NO_RESULT);
        return;
      case Insert.IfUnaligned:
        writer.isUnaligned(sink, b[entry], c[entry], d[entry]);
        sink.rarely();
        sink.open(Op.IF, NO_RESULT);
        return;
      case Insert.Else:
        sink.plain(Op.ELSE);
        return;
      case Insert.EndIf:
        sink.end();
        return;
      case Insert.Advance:
        this.countdown.advance(sink, b[entry]);
        return;
      case Insert.AdvanceTrips:
      case Insert.AdvanceManyTrips:
        this.countdown.advanceTrips(sink, b[entry], c[entry], a[entry] === Insert.AdvanceManyTrips);
        return;
      case Insert.Call:
        sink.mark(key[entry] >>> 2);
        return;
      case Insert.Poll:
        sink.mark(key[entry] >>> 2);
        this.countdown.poll(sink);
        return;
      case Insert.Load:
        this.countdown.load(sink);
        return;
      case Insert.Save:
        this.countdown.save(sink);
        return;
      case Insert.Publish:
        this.countdown.publish(sink);
        return;
      case Insert.Enter:
        sink.local(Op.LOCAL_GET, b[entry]);
        sink.local(Op.LOCAL_SET, this.countdown.local);
        if (d[entry] === 1) {
          sink.i32(0);
          sink.local(Op.LOCAL_SET, b[entry]);
        }
        // Branches out of the function lead to the end of this block.
        sink.open(Op.BLOCK, c[entry]);
        return;
      case Insert.Close:
        sink.end();
        this.countdown.write(sink);
        return;
      case Insert.Return:
      case Insert.Pass:
        this.countdown.write(sink);
        return;
      case Insert.TakeBack:
        this.countdown.take(sink);
        return;
      case Insert.NoteSize:
        sink.indexed(Op.CALL, this.#targets.noteSize);
    }
  }
}
