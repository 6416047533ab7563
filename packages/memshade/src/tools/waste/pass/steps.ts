import type { CallFrames } from "../../../contexts/frames/call-frames.ts";
import type { Insertions } from "../../../rewrite/write/insertions.ts";
import type { SnippetSink } from "../../../rewrite/write/snippet-sink.ts";
import type { ValType } from "../../../wasm/index.ts";
import * as Op from "../../../wasm/op.generated.ts";
import type { SiteTable } from "../site-table.ts";
import type { LoopStreams, StreamLoop } from "./loop-streams.ts";
import type { NodeCalls } from "./node-calls.ts";
import type { PassTargets, SummaryParts } from "./pass-parts.ts";
import type { SiteKeys } from "./sites/site-keys.ts";
import type { Place } from "./summary-snippets.ts";

/** What an insertion does; its operands are in columns `b` to `d`, and `a` holds this. */
export const Step = {
  /** b: displacement, c: site. Operands of the function that does the access. */
  Arguments: 0,
  /** b: number of a place in `places` */
  Compare: 1,
  Mark: 2,
  Test: 3,
  /** b: site */
  CountRun: 4,
  /** b: word of the waste tool's memory, c: value */
  Note: 5,
  /** b: function without parameters and results */
  Call: 6,
  /** b: displacement, c: key. Operands of the function that does the access. */
  Cold: 10,
  /** b: number of a loop in `loops`; behind it. */
  Loop: 11,
  /** b: word of the waste tool's memory, c: key that is put there */
  NoteKey: 12,
  /** Computes the local with the address of counters. */
  Base: 14,
  /** Computes the local with the address of the ids of stores. */
  IdsBase: 20,
  /** b: word of the waste tool's memory, c: local that keeps it; and back. */
  Keep: 15,
  PutBack: 16,
} as const;

/** What the steps of all functions of a module refer to. */
export interface StepParts {
  sites: SiteTable;
  keys: SiteKeys;
  summary: SummaryParts | undefined;
  targets: PassTargets;
  callFrames: CallFrames | undefined;
  nodeCalls: NodeCalls | undefined;
  /** The waste tool's memory. */
  memory: number;
  /** A local of a type for the length of one step. */
  scratch: (type: ValType, number: number) => number;
}

/** Writes what the waste pass has asked for. */
export class StepWriter {
  readonly #parts: StepParts;
  /** Accesses and loops of the function at hand that steps name by number. */
  readonly places: Place[] = [];
  readonly loops: StreamLoop[] = [];
  streams: LoopStreams | undefined;

  constructor(parts: StepParts) {
    this.#parts = parts;
  }

  /** Forgets the last function. */
  begin(streams: LoopStreams | undefined): void {
    this.places.length = 0;
    this.loops.length = 0;
    this.streams = streams;
  }

  /** Writes one insertion of the function at hand. */
  write(sink: SnippetSink, entry: number, { a, b, c }: Insertions): void {
    const operand = b[entry];
    const { records, loadSite } = this.#parts.targets;
    const { sites, summary, keys, callFrames, nodeCalls, memory, scratch } = this.#parts;
    switch (a[entry]) {
      case Step.Arguments:
        sink.i32(operand);
        if (sites.store[c[entry]] === 0) sink.i32(0);
        else records.pushId(sink, keys.store(c[entry]));
        if (sites.load[c[entry]] === 0) sink.i32(0);
        else records.pushLoad(sink, keys.load(c[entry]));
        break;
      case Step.Compare:
        summary?.snippets.compareStore(sink, this.places[operand]);
        break;
      case Step.Mark:
        summary?.snippets.markStore(sink, this.places[operand]);
        break;
      case Step.Test:
        summary?.snippets.testLoad(sink, this.places[operand], scratch);
        break;
      case Step.CountRun:
        summary?.snippets.countRun(sink, keys.runsAt(operand));
        break;
      case Step.Loop:
        for (const store of this.loops[operand].stores) summary?.snippets.flushSilent(sink, store);
        this.streams?.write(sink, this.loops[operand], records);
        break;
      case Step.Cold:
        sink.i32(operand);
        records.pushCold(sink, c[entry]);
        break;
      case Step.IdsBase:
        summary?.fixed?.computeIdsBase(sink);
        break;
      case Step.Base:
        summary?.fixed?.computeBase(sink);
        break;
      case Step.NoteKey:
        sink.i32(0);
        // Columns of insertions hold addresses as signed numbers.
        if (operand === (loadSite | 0)) records.pushLoad(sink, c[entry]);
        else records.pushId(sink, c[entry]);
        sink.access(Op.I32_STORE, 2, memory, operand);
        break;
      case Step.Note:
        sink.i32(0);
        sink.i32(c[entry]);
        sink.access(Op.I32_STORE, 2, memory, operand);
        break;
      case Step.Keep:
        sink.i32(0);
        sink.access(Op.I32_LOAD, 2, memory, operand);
        sink.local(Op.LOCAL_SET, c[entry]);
        break;
      case Step.PutBack:
        sink.i32(0);
        sink.local(Op.LOCAL_GET, c[entry]);
        sink.access(Op.I32_STORE, 2, memory, operand);
        break;
      case Step.Call:
        sink.indexed(Op.CALL, operand);
        break;
      default:
        callFrames?.write(sink, a[entry], operand, c[entry]);
        nodeCalls?.write(sink, a[entry], operand, c[entry]);
    }
  }
}
