import {
  ACCESS_BYTES,
  encodeConstantExpression,
  I32,
  type ValType,
  type WasmModule,
} from "../../../../code/wasm/index.ts";
import * as Op from "../../../../code/wasm/op.generated.ts";
import { base64Of, bytesOfBase64 } from "../../../../ground/bytes/base64.ts";
import type { AllocationListeners } from "../../../allocator/allocation-listeners.ts";
import {
  allFrameBytes,
  CallFrames,
  entryStack,
  FramePlan,
  FrameSnippets,
  type Frames,
  type FrameTargets,
  frameShapes,
} from "../../../contexts/frames/call-frames.ts";
import { findCallSites } from "../../../contexts/frames/call-sites.ts";
import { encodeSlots } from "../../../contexts/frames/slot-table.ts";
import { FRAME_HEADER_BYTES } from "../../../contexts/layout.ts";
import { FunctionFact, type ModuleScan } from "../../../rewrite/facts/module-scan.ts";
import { mergeRuntime, type RuntimeFunctions } from "../../../rewrite/link.ts";
import type { ToolPass, WalkState } from "../../../rewrite/tool.ts";
import { keepAddress } from "../../../rewrite/walk/keep-address.ts";
import { CONSTANT, NO_LOCAL, ValueClass } from "../../../rewrite/walk/value-numbers.ts";
import { BodyBuilder } from "../../../rewrite/write/body-builder.ts";
import type { SnippetSink } from "../../../rewrite/write/snippet-sink.ts";
import { extraLocal } from "../../../rewrite/write/temporaries.ts";
import { describeLayout } from "../../table-layout.ts";
import type { ToolSurroundings, WovenTool } from "../../tool.ts";
import type { WorkingSetLayout } from "../memory-plan.ts";
import { alignmentHint } from "../pass/marks/alignment-hint.ts";
import { KnownPlaces } from "../pass/marks/known-places.ts";
import { LINE_SHIFT, writeLine } from "../pass/marks/line-of-address.ts";
import { Kind } from "../pass/marks/place-group.ts";
import { PollPlan } from "../pass/poll-plan.ts";
import { ATTRIBUTION_RUNTIME_BASE64 } from "./attribution.generated.ts";
import { attributionConstants, keyWord, PREFIX, planAttribution } from "./memory-plan.ts";

export interface WovenAttribution {
  endBytes: number;
  globals: readonly { type: ValType; initial: Uint8Array }[];
  pass: ToolPass;
  followedCalls: WovenTool["followedCalls"];
  allocations: AllocationListeners | undefined;
  /** Runtime functions for snapshots and bulk instructions, by name. */
  functions: RuntimeFunctions;
  /** Fields of the layout with a prefix, for the host that reads the tables. */
  description: Readonly<Record<string, number | string | boolean>>;
  notTracked: string[];
}

interface PlannedFrames extends Omit<Frames, "snippets"> {}

/**
 * Adds the attribution to the working-set tool if it is requested. Its tables begin after `from`, its globals with
 * `firstGlobal`. `constants` are those of the working set.
 */
export function weaveAttribution(
  surroundings: ToolSurroundings,
  workingSet: WorkingSetLayout,
  from: number,
  firstGlobal: number,
  constants: Record<string, number | Uint8Array>,
): WovenAttribution | undefined {
  const wanted = surroundings.options.workingset?.attribution ?? {};
  const { memory64, module, appended, allocator } = surroundings;
  const notTracked: string[] = [];
  const firstTouch = wanted.firstTouch === true;
  let fill = wanted.fill === true;
  let owners = wanted.owners === true;
  if (memory64 && (fill || owners)) {
    notTracked.push(
      "The module's memory is 64-bit: the bytes used of each line and its owners are not recorded.",
    );
    fill = false;
    owners = false;
  }
  if (!firstTouch && !fill && !owners) return undefined;
  const planned = firstTouch || owners ? planFrames(surroundings, firstTouch, owners) : undefined;
  const layout = planAttribution({
    firstTouch,
    fill,
    owners,
    from,
    memoryBytes: surroundings.memoryBytes,
    lines: workingSet.lines,
    snapshots: workingSet.recordCapacity,
    functions: module.bodies.length,
    frameBytes: planned === undefined ? 0 : allFrameBytes(planned.shapes),
    slots: planned === undefined ? "" : base64Of(encodeSlots(planned)),
    wrappers: allocator.wrappers.join(),
  });
  const slotGlobal = firstGlobal;
  const runtime = mergeRuntime(bytesOfBase64(ATTRIBUTION_RUNTIME_BASE64), {
    appended,
    shadowMemory: surroundings.shadowMemory,
    firstGlobal: firstGlobal + 1,
    constants: { ...constants, ...attributionConstants(layout) },
    hosts: {
      slot: appended.add(appended.typeIndex([], [I32]), () =>
        new BodyBuilder().op("global.get", slotGlobal).finish(),
      ),
    },
  });
  const target = (name: string): number => runtime.functions.get(name) as number;
  const frameTargets: FrameTargets = {
    memory: surroundings.shadowMemory,
    slotGlobal,
    enterFrame: planned === undefined ? -1 : target("enterFrame"),
    hostWord: layout.hostWord,
    rootSlot: layout.rootSlot,
  };
  const frames =
    planned === undefined ? undefined : { ...planned, snippets: new FrameSnippets(frameTargets) };
  if (owners && allocator.functions.length === 0)
    notTracked.push("No allocator was found: lines of the heap have no allocation sites.");
  return {
    endBytes: layout.endBytes,
    globals: [{ type: I32, initial: encodeConstantExpression(I32, layout.rootSlot | 0) }, ...runtime.globals],
    pass: new AttributionPass({
      memory64,
      memory: surroundings.shadowMemory,
      lines: workingSet.lines,
      covered: layout.covered,
      isLimited: layout.isLimited,
      firstTouch,
      bytesToo: fill || owners,
      touchers: layout.touchers,
      bytes: layout.bytes,
      keyWord: keyWord(layout),
      touched: firstTouch ? target("touched") : -1,
      accessed: () => target("accessed"),
      polls: new PollPlan(module, surroundings.scan),
      freesBlocks: owners,
      assumeAligned: workingSet.assumeAligned,
      frames,
      hostIsReferenced: planned !== undefined && hostIsReferenced(module, planned.plan),
    }),
    followedCalls:
      planned === undefined
        ? undefined
        : {
            shadowMemory: surroundings.shadowMemory,
            ...entryStack(frameTargets),
            entries: planned.plan.entries,
          },
    allocations:
      owners && allocator.functions.length > 0
        ? {
            requested: target("requested"),
            allocated: target("allocated"),
            reallocated: target("reallocated"),
            released: target("released"),
            zeroedBy: () => 1,
          }
        : undefined,
    functions: runtime.functions,
    description: describeLayout(PREFIX, layout),
    notTracked,
  };
}

/**
 * Plans frames for all functions that access memory, or only for those that allocate. Contexts continue inside of the
 * allocator, whose own code accesses memory like any other.
 */
function planFrames(surroundings: ToolSurroundings, firstTouch: boolean, owners: boolean): PlannedFrames {
  const { module, scan, allocator } = surroundings;
  const calls = findCallSites(module);
  const targets = owners ? allocator.functions.map(({ index }) => index) : [];
  if (firstTouch) targets.push(...touchingFunctions(module, scan, calls.callee, calls.firstOfFunction));
  const plan = new FramePlan(module, scan, { ...allocator, functions: [], internals: [] }, targets);
  const places = module.bodies.map(({ codeStart, end }) => (firstTouch ? end - codeStart : 0));
  return { plan, calls, shapes: frameShapes(module, calls, plan, places) };
}

function touchingFunctions(
  module: WasmModule,
  scan: ModuleScan,
  callee: readonly number[],
  firstOfFunction: Int32Array,
): number[] {
  const imported = module.importedFunctionCount;
  const touching: number[] = [];
  for (let defined = 0; defined < module.bodies.length; defined++) {
    const called = callee.slice(firstOfFunction[defined], firstOfFunction[defined + 1]);
    const touches = (scan.facts[defined] & FunctionFact.HasAccess) !== 0;
    if (touches || called.some((index) => index >= 0 && index < imported)) touching.push(imported + defined);
  }
  return touching;
}

function hostIsReferenced(module: WasmModule, { entries }: FramePlan): boolean {
  for (let index = 0; index < module.importedFunctionCount; index++)
    if (entries.isReferenced(index)) return true;
  return false;
}

interface AttributionTargets {
  memory64: boolean;
  memory: number;
  /** Number of lines. The line after the last one stands for addresses that are not covered. */
  lines: number;
  /** Bytes of memory that are recorded per byte. */
  covered: number;
  /** True if there may be more memory than that. */
  isLimited: boolean;
  firstTouch: boolean;
  bytesToo: boolean;
  touchers: number;
  bytes: number;
  keyWord: number;
  /** (first line, last line, key) */
  touched: number;
  /** (address, bytes, key) */
  accessed(): number;
  polls: PollPlan;
  /** True if the state of a block's bytes is removed when it is freed. */
  freesBlocks: boolean;
  /** True if accesses that are aligned by their hint count as inside of one line. */
  assumeAligned: boolean;
  /** Effects of calls on contexts; undefined without contexts. */
  frames: Frames | undefined;
  /** True if calls through tables may reach the host. */
  hostIsReferenced: boolean;
}

/** Parts that an access may touch first: the lines of its first and last byte; its bytes. */
const Part = { FirstLine: 1, LastLine: 2, Bytes: 4 } as const;

interface Touch {
  parts: number;
  size: number;
  /** Local with the address before `constant` is added; `NO_LOCAL`: the address is constant. */
  local: number;
  constant: number;
  place: number;
}

/**
 * Inline code makes functions up to ten times as large, and V8 accepts none above 7.6 MB. Accesses of larger functions
 * than this call a function.
 */
const LARGEST_WITH_INLINE_CODE = 256 * 1024;

const SELECT = 0x1b;
const NO_RESULT = 0x40;
const ONES_64 = 0x0101010101010101n;

/**
 * Inserts code after each access that records the first touch of lines, and the touched bytes. The code is neither
 * moved nor merged, unlike marks, so that the order is that of the program.
 */
class AttributionPass implements ToolPass {
  readonly everywhere = true;
  readonly #targets: AttributionTargets;
  readonly #frames: CallFrames | undefined;
  readonly #touchedPlaces = new KnownPlaces();
  #state!: WalkState;
  #codeStart = 0;
  #scratch = NO_LOCAL;
  /** Function that accesses call; −1 if they have inline code. */
  #accessed = -1;

  constructor(targets: AttributionTargets) {
    this.#targets = targets;
    if (targets.frames !== undefined) this.#frames = new CallFrames(targets.frames);
  }

  begin(state: WalkState, codeStart: number): void {
    this.#state = state;
    this.#codeStart = codeStart;
    this.#scratch = NO_LOCAL;
    this.#touchedPlaces.forgetAll();
    const { bodies, importedFunctionCount } = state.module;
    const size = bodies[state.function - importedFunctionCount].end - codeStart;
    const isLarge = size > LARGEST_WITH_INLINE_CODE && !this.#targets.memory64;
    this.#accessed = isLarge ? this.#targets.accessed() : -1;
    this.#frames?.begin(state, codeStart, true);
  }

  access(op: number, at: number, displacement: number, start: number, end: number): void {
    const { stack, values, insertions, temporaries, module } = this.#state;
    let base = stack.value[at];
    if (base === 0) {
      base = values.fresh(ValueClass.Unknown, NO_LOCAL);
      stack.value[at] = base;
    }
    const size = ACCESS_BYTES[op];
    const from =
      base === CONSTANT ? (stack.offset[at] >>> 0) + displacement : (stack.offset[at] + displacement) | 0;
    const hint = 1 << alignmentHint(module.bytes, start);
    const parts = this.#partsOf(base, from, size, this.#targets.assumeAligned && hint >= size);
    this.#touchedPlaces.add(base, from, from + size, Kind.Both, start);
    if (parts === 0) return;
    const isConstant = base === CONSTANT;
    const local = isConstant ? NO_LOCAL : keepAddress(this.#state, at, op, start);
    const constant = (isConstant ? from : displacement) | 0;
    if ((parts & Part.Bytes) !== 0 && this.#targets.isLimited && this.#scratch === NO_LOCAL)
      this.#scratch = extraLocal(temporaries, I32);
    const touch = { parts, size, local, constant, place: start - this.#codeStart };
    insertions.add(end, { write: (sink) => this.#write(sink, touch) });
  }

  #partsOf(base: number, from: number, size: number, isAligned: boolean): number {
    const { firstTouch, bytesToo, lines, covered } = this.#targets;
    // A constant address above the lines traps, or the memory is larger than is covered.
    if (base === CONSTANT && ((from + size - 1) >>> 0) >>> LINE_SHIFT >= lines) return 0;
    let parts = 0;
    if (firstTouch) {
      if (this.#touchedPlaces.kindsAt(base, from) === 0) parts |= Part.FirstLine;
      const last = from + size - 1;
      const mayCross =
        base === CONSTANT ? from >>> LINE_SHIFT !== last >>> LINE_SHIFT : size > 1 && !isAligned;
      if (mayCross && this.#touchedPlaces.kindsAt(base, last) === 0) parts |= Part.LastLine;
    }
    const isCovered = base !== CONSTANT || from + size <= covered;
    if (bytesToo && isCovered && !this.#touchedPlaces.covers(base, from, from + size)) parts |= Part.Bytes;
    return parts;
  }

  bulk(_op: number, _first: number, _second: number, start: number): void {
    this.#noteKey(start);
  }

  call(callee: number, tail: boolean, start: number, end: number): void {
    const { module } = this.#state;
    const { hostIsReferenced } = this.#targets;
    if (callee < 0 ? hostIsReferenced : callee < module.importedFunctionCount) this.#noteKey(start);
    this.#frames?.call(callee, tail, start, end);
    // All marks are gone at the end of an interval, and a block's marks when it is freed.
    if (this.#targets.freesBlocks || this.#targets.polls.mayPoll(callee)) this.#touchedPlaces.forgetAll();
  }

  merge(position: number): void {
    this.#touchedPlaces.forgetSince(position);
  }

  enterLoop(): void {
    this.#touchedPlaces.forgetAll();
  }

  /** Charges the touches of the next bulk instruction or call of the host to the instruction at `start`. */
  #noteKey(start: number): void {
    if (!this.#targets.firstTouch) return;
    const place = start - this.#codeStart;
    this.#state.insertions.add(start, {
      write: (sink) => {
        sink.i32(0);
        this.#pushKey(sink, place);
        sink.access(Op.I32_STORE, 2, this.#targets.memory, this.#targets.keyWord);
      },
    });
  }

  #write(sink: SnippetSink, touch: Touch): void {
    if (this.#accessed >= 0) {
      this.#callAccessed(sink, touch);
      return;
    }
    if ((touch.parts & (Part.FirstLine | Part.LastLine)) !== 0) this.#touchLines(sink, touch);
    if ((touch.parts & Part.Bytes) !== 0) this.#markBytes(sink, touch);
  }

  #callAccessed(sink: SnippetSink, { local, constant, size, place }: Touch): void {
    if (local !== NO_LOCAL) sink.local(Op.LOCAL_GET, local);
    if (local === NO_LOCAL || constant !== 0) sink.i32(constant);
    if (local !== NO_LOCAL && constant !== 0) sink.plain(Op.I32_ADD);
    sink.i32(size);
    this.#pushKey(sink, place);
    sink.indexed(Op.CALL, this.#accessed);
  }

  /** Calls the runtime if one of the lines was not touched in this interval yet. */
  #touchLines(sink: SnippetSink, { parts, local, constant, size, place }: Touch): void {
    const { memory, touchers, touched } = this.#targets;
    const offsets = [];
    if ((parts & Part.FirstLine) !== 0) offsets.push(0);
    if ((parts & Part.LastLine) !== 0) offsets.push(size - 1);
    offsets.forEach((offset, i) => {
      this.#pushLine(sink, local, constant + offset);
      sink.i32(2);
      sink.plain(Op.I32_SHL);
      sink.access(Op.I32_LOAD, 2, memory, touchers);
      sink.plain(Op.I32_EQZ);
      if (i > 0) sink.plain(Op.I32_OR);
    });
    sink.rarely();
    sink.open(Op.IF, NO_RESULT);
    this.#pushLine(sink, local, constant);
    this.#pushLine(sink, local, constant + size - 1);
    this.#pushKey(sink, place);
    sink.indexed(Op.CALL, touched);
    sink.end();
  }

  #pushLine(sink: SnippetSink, local: number, constant: number): void {
    const { memory64, lines } = this.#targets;
    if (local === NO_LOCAL) sink.i32((constant >>> 0) >>> LINE_SHIFT);
    else writeLine(sink, memory64, local, constant >>> 0, lines);
  }

  #markBytes(sink: SnippetSink, { local, constant, size }: Touch): void {
    const { memory, bytes } = this.#targets;
    for (let done = 0; done < size; done += 8) {
      this.#pushCovered(sink, local, constant);
      const at = bytes + done;
      if (size >= 8) {
        sink.i64(ONES_64);
        sink.access(Op.I64_STORE, 0, memory, at);
      } else {
        sink.i32(size === 4 ? 0x01010101 : size === 2 ? 0x0101 : 1);
        sink.access(size === 4 ? Op.I32_STORE : size === 2 ? Op.I32_STORE16 : Op.I32_STORE8, 0, memory, at);
      }
    }
  }

  /** Pushes the address, or the first address above the covered memory for all addresses above. */
  #pushCovered(sink: SnippetSink, local: number, constant: number): void {
    const { covered, isLimited } = this.#targets;
    if (local === NO_LOCAL) {
      sink.i32(constant);
      return;
    }
    sink.local(Op.LOCAL_GET, local);
    if (constant !== 0) {
      sink.i32(constant);
      sink.plain(Op.I32_ADD);
    }
    if (!isLimited) return;
    sink.local(Op.LOCAL_TEE, this.#scratch);
    sink.i32(covered | 0);
    sink.local(Op.LOCAL_GET, this.#scratch);
    sink.i32(covered | 0);
    sink.plain(Op.I32_LT_U);
    sink.plain(SELECT);
  }

  /** Pushes the address of an instruction in the frame of the current function. */
  #pushKey(sink: SnippetSink, place: number): void {
    const local = this.#frames?.local ?? NO_LOCAL;
    if (local === NO_LOCAL) {
      sink.i32(0);
      return;
    }
    sink.local(Op.LOCAL_GET, local);
    sink.i32(FRAME_HEADER_BYTES + place);
    sink.plain(Op.I32_ADD);
  }
}
