import {
  encodeConstantExpression,
  I32,
  IMMEDIATE_KIND,
  opcodeIdAt,
  referenceType,
  skipImmediates,
  skipOpcode,
  type ValType,
  type WasmModule,
} from "../../../code/wasm/index.ts";
import * as Op from "../../../code/wasm/op.generated.ts";
import { base64Of, bytesOfBase64 } from "../../../ground/bytes/base64.ts";
import {
  allFrameBytes,
  CallFrames,
  entryStack,
  FramePlan,
  FrameSnippets,
  type Frames,
  type FrameTargets,
  frameShapes,
} from "../../contexts/frames/call-frames.ts";
import { findCallSites } from "../../contexts/frames/call-sites.ts";
import { FrameWord, frameConstants } from "../../contexts/frames/frame-memory.ts";
import { encodeSlots } from "../../contexts/frames/slot-table.ts";
import { FRAMES_RUNTIME_BASE64 } from "../../contexts/frames.generated.ts";
import { FRAME_HEADER_BYTES } from "../../contexts/layout.ts";
import { mergeRuntime } from "../../rewrite/link.ts";
import type { ToolPass, WalkState } from "../../rewrite/tool.ts";
import { BodyBuilder } from "../../rewrite/write/body-builder.ts";
import type { Insertion } from "../../rewrite/write/insertions.ts";
import type { SnippetSink } from "../../rewrite/write/snippet-sink.ts";
import { extraLocal } from "../../rewrite/write/temporaries.ts";
import { HostSlot } from "../host-interface.ts";
import type { ToolSurroundings, WovenTool } from "../tool.ts";
import { constantObjects } from "./constant-objects.ts";
import {
  type CountedEvent,
  type CounterPlace,
  encodeEvents,
  FIRST_COUNTER,
  placeInFrame,
  placeInTable,
} from "./event-table.ts";
import { allocates, fixedLength, hasLength, hasObjectTypes } from "./instructions.ts";
import { COUNTER_BYTES, Control } from "./layout.ts";
import {
  DEFAULT_SAMPLE_BYTES,
  endOfCounters,
  type ObjectsLayout,
  type ObjectsPlan,
  type ObjectTablesLayout,
  planObjectsLayout,
} from "./memory-plan.ts";
import { SizeModel } from "./size-model.ts";

const NO_LENGTH = -1;
const NO_LOCAL = -1;
const ALIGNED_U64 = 3;

interface ObjectsTargets {
  /** Index of the tool's memory, and offset of its counters. */
  readonly memory: number;
  readonly counters: number;
  readonly model: SizeModel;
  /** True if reads and writes of fields and elements are counted too. */
  readonly fields: boolean;
  /**
   * Frames in which allocations are counted by calling context; undefined if they are counted in the table.
   */
  readonly frames: Frames | undefined;
  /** Code that chooses objects; undefined if nothing is sampled. */
  readonly sampling: SamplingTargets | undefined;
}

interface Allocation {
  readonly number: number;
  readonly type: number;
  /** Number of elements; NO_LENGTH if only the local has it. */
  readonly length: number;
  readonly end: number;
}

interface SamplingTargets {
  /** Global with the bytes until the next sample. */
  readonly countdown: number;
  /**
   * Returns the function (object, frame, site, size) → object for objects of a type, and the index of the
   * function type (object) → object.
   */
  readonly chosen: (type: number) => { readonly call: number; readonly pass: number };
}

/** Counter of the current function. `end` assigns its address after the walk of the function. */
interface Counter {
  ofAllocations: boolean;
  place: CounterPlace;
}

interface PendingEvent extends Omit<CountedEvent, "counter" | "elements"> {
  readonly counter: Counter;
  readonly elements: Counter | undefined;
}

/**
 * Counts how often stretches of code that make or use objects run. All instructions between two points
 * where control may enter or leave share a counter. The reader derives the work of an instruction from its
 * immediates. Each instruction that makes an array has a further counter for the lengths.
 */
class ObjectsPass implements ToolPass {
  readonly everywhere = true;
  readonly #targets: ObjectsTargets;
  readonly #frames: CallFrames | undefined;
  readonly #events: PendingEvent[] = [];
  #state!: WalkState;
  /** Counter of the current stretch of code; undefined if it has none yet. */
  #current: Counter | undefined;
  /** Counters of the stretches before open blocks, by control index. */
  readonly #before: (Counter | undefined)[] = [];
  #counters: Counter[] = [];
  #length = NO_LOCAL;
  #remaining = NO_LOCAL;
  /** Counters in the table so far. */
  counterCount: number;

  /** `taken`: number of counters at the start of the table that have other uses. */
  constructor(targets: ObjectsTargets, taken: number) {
    this.counterCount = FIRST_COUNTER + taken;
    this.#targets = targets;
    if (targets.frames !== undefined) this.#frames = new CallFrames(targets.frames);
  }

  get events(): CountedEvent[] {
    return this.#events.map(({ offset, counter, elements }) => ({
      offset,
      counter: counter.place,
      elements: elements?.place ?? 0,
    }));
  }

  begin(state: WalkState, codeStart: number): void {
    this.#state = state;
    this.#current = undefined;
    this.#counters = [];
    this.#length = NO_LOCAL;
    this.#remaining = NO_LOCAL;
    this.#frames?.begin(state, codeStart, true);
  }

  enterBlock(): void {
    this.#before[this.#state.control.top + 1] = this.#current;
  }

  endBlock(): void {
    this.#current = undefined;
  }

  passBlock(): void {
    this.#current = this.#before[this.#state.control.top];
  }

  object(op: number, first: number, second: number, start: number, end: number): void {
    const isAllocation = allocates(op);
    if (op === Op.ARRAY_LEN || !(isAllocation || this.#targets.fields)) return;
    const { insertions, module, temporaries } = this.#state;
    if (this.#current === undefined) {
      const counter = this.#counter(false);
      this.#current = counter;
      insertions.add(
        start,
        this.#insertion((sink) => this.#add(sink, counter, () => sink.i64(1))),
      );
    }
    this.#current.ofAllocations ||= isAllocation;
    let elements: Counter | undefined;
    if (hasLength(op)) {
      const counter = this.#counter(isAllocation);
      elements = counter;
      if (this.#length === NO_LOCAL) this.#length = extraLocal(temporaries, I32);
      insertions.add(
        start,
        this.#insertion((sink) => sink.local(Op.LOCAL_TEE, this.#length)),
      );
      insertions.add(
        end,
        this.#insertion((sink) => this.#addLength(sink, counter)),
      );
    }
    const event = { offset: start - module.codePayloadStart, counter: this.#current, elements };
    const number = this.#events.push(event) - 1;
    if (isAllocation && this.#targets.sampling !== undefined)
      this.#countDown(this.#targets.sampling, {
        number,
        type: first,
        end,
        length: hasLength(op) ? NO_LENGTH : fixedLength(op, second),
      });
  }

  call(callee: number, isTail: boolean, start: number, end: number): void {
    this.#frames?.call(callee, isTail, start, end);
  }

  /**
   * Assigns an address to each counter of the function: in its frame for allocations if there are frames,
   * else in the table.
   */
  end(): void {
    let inFrame = 0;
    for (const counter of this.#counters)
      counter.place =
        counter.ofAllocations && this.#frames !== undefined
          ? placeInFrame(inFrame++)
          : placeInTable(this.counterCount++);
  }

  #counter(ofAllocations: boolean): Counter {
    const counter = { ofAllocations, place: 0 };
    this.#counters.push(counter);
    return counter;
  }

  #insertion(write: (sink: SnippetSink) => void): Insertion {
    return { write };
  }

  #add(sink: SnippetSink, { place }: Counter, amount: () => void): void {
    const { memory, counters } = this.#targets;
    const isInFrame = (place & 1) === 1;
    const number = place >>> 1;
    const at = (isInFrame ? FRAME_HEADER_BYTES : counters) + number * COUNTER_BYTES;
    for (let twice = 0; twice < 2; twice++)
      if (isInFrame) sink.local(Op.LOCAL_GET, this.#frames!.local);
      else sink.i32(0);
    sink.access(Op.I64_LOAD, ALIGNED_U64, memory, at);
    amount();
    sink.plain(Op.I64_ADD);
    sink.access(Op.I64_STORE, ALIGNED_U64, memory, at);
  }

  #addLength(sink: SnippetSink, counter: Counter): void {
    const length = this.#length;
    this.#add(sink, counter, () => {
      sink.local(Op.LOCAL_GET, length);
      sink.plain(Op.I64_EXTEND_I32_U);
    });
  }

  /** Inserts the countdown after an allocation. The object is on top of the stack. */
  #countDown(sampling: SamplingTargets, { number, type, length, end }: Allocation): void {
    const { countdown } = sampling;
    const { insertions, module, temporaries } = this.#state;
    if (this.#remaining === NO_LOCAL) this.#remaining = extraLocal(temporaries, I32);
    const definition = module.types[type];
    const { model } = this.#targets;
    const fixed = model.fixedBytes(definition);
    const elementBytes = model.elementBytes(definition);
    const { call, pass } = sampling.chosen(type);
    insertions.add(
      end,
      this.#insertion((sink) => {
        const pushSize = (): void => {
          if (length !== NO_LENGTH) {
            sink.i32(fixed + elementBytes * length);
            return;
          }
          sink.local(Op.LOCAL_GET, this.#length);
          sink.i32(elementBytes);
          sink.plain(Op.I32_MUL);
          sink.i32(fixed);
          sink.plain(Op.I32_ADD);
        };
        sink.indexed(Op.GLOBAL_GET, countdown);
        pushSize();
        sink.plain(Op.I32_SUB);
        sink.local(Op.LOCAL_TEE, this.#remaining);
        sink.indexed(Op.GLOBAL_SET, countdown);
        sink.local(Op.LOCAL_GET, this.#remaining);
        sink.i32(0);
        sink.plain(Op.I32_LT_S);
        sink.rarely();
        sink.openTyped(Op.IF, pass);
        if (this.#frames === undefined) sink.i32(0);
        else sink.local(Op.LOCAL_GET, this.#frames.local);
        sink.i32(number);
        pushSize();
        sink.indexed(Op.CALL, call);
        sink.end();
      }),
    );
  }
}

/** Heap type `any` as a nullable reference, and the expression of its null. */
const ANYREF: ValType = 0x6e;
const NULL_ANY = Uint8Array.of(0xd0, 0x6e, 0x0b);
const ALIGNED_I32 = 2;
const ALIGNED_I64 = 3;
const HAS_MEMORY_INDEX = 0x40;

/** Inserts the counters of the tool objects into a module, and the code that samples objects. */
export function weaveObjects(surroundings: ToolSurroundings): WovenTool | string {
  const { module, options, shadowMemory } = surroundings;
  if (!hasObjectTypes(module))
    return "The module has no garbage-collected objects: the tool objects records nothing.";
  const {
    fields = true,
    contexts = true,
    sampleBytes = DEFAULT_SAMPLE_BYTES,
    references = 4,
  } = options.objects ?? {};
  const sampling = sampleBytes === 0 ? undefined : new Sampling(surroundings, sampleBytes);
  const planned = contexts ? planFrames(surroundings) : undefined;
  const layout = planObjectsLayout({
    meanBytes: sampleBytes,
    references,
    fields,
    frames: planned && frameSizes(planned),
  });
  const samplingGlobals = sampling?.globals ?? [];
  const framed =
    planned && weaveFrames(surroundings, planned, layout, surroundings.firstGlobal + samplingGlobals.length);
  const lengths = constantObjects(module).flatMap(({ elements }) =>
    typeof elements === "number" ? [] : elements,
  );
  const pass = new ObjectsPass(
    {
      memory: shadowMemory,
      counters: layout.counters,
      model: new SizeModel(references),
      fields,
      sampling,
      frames: framed?.frames,
    },
    lengths.length,
  );
  const asksHost = (options.hostStacks ?? "off") !== "off";
  const endBytes = () => endOfCounters(layout, pass.counterCount);
  return {
    name: "objects",
    seesEngine: true,
    pass,
    get shadowBytes() {
      return endBytes();
    },
    describe: (): ObjectsLayout => ({
      ...layout,
      counterCount: pass.counterCount,
      endBytes: endBytes(),
      events: encodeEvents(pass.events),
      slots: framed?.slots ?? "",
      asksHost,
    }),
    globals: [...samplingGlobals, ...(framed?.globals ?? [])],
    ...(sampling === undefined ? {} : { globalExports: sampling.exported }),
    start: lengths.length === 0 ? -1 : noteLengths(surroundings, layout.counters, lengths),
    entered: asksHost && sampling !== undefined ? sampling.entered() : -1,
    followedCalls: framed?.followedCalls,
    notTracked: [],
  };
}

/**
 * Adds a function that stores the lengths of arrays made by constant expressions in their counters. The code
 * of the expressions computes the lengths.
 */
function noteLengths(
  { appended, shadowMemory }: ToolSurroundings,
  counters: number,
  lengths: readonly Uint8Array[],
): number {
  return appended.add(appended.typeIndex([], []), () => {
    const body = new BodyBuilder();
    lengths.forEach((code, index) => {
      const at = counters + (FIRST_COUNTER + index) * COUNTER_BYTES;
      body.i32(0).instructions(code).op("i64.extend_i32_u");
      if (shadowMemory === 0) body.op("i64.store", ALIGNED_I64, at);
      else body.op("i64.store", ALIGNED_I64 | HAS_MEMORY_INDEX, shadowMemory, at);
    });
    return body.finish();
  });
}

/** Code by which a module passes single objects to its host. */
class Sampling implements SamplingTargets {
  readonly #surroundings: ToolSurroundings;
  readonly #mean: number;
  readonly countdown: number;
  readonly #object: number;
  readonly #entries: number;
  readonly #callHost: number;
  readonly #chosen = new Map<number, { call: number; pass: number }>();

  constructor(surroundings: ToolSurroundings, mean: number) {
    this.#surroundings = surroundings;
    this.#mean = mean;
    this.countdown = surroundings.firstGlobal;
    this.#object = surroundings.firstGlobal + 1;
    this.#entries = surroundings.firstGlobal + 2;
    this.#callHost = surroundings.callHost(HostSlot.Object, false);
  }

  get globals(): NonNullable<WovenTool["globals"]> {
    return [
      { type: I32, initial: encodeConstantExpression(I32, this.#mean) },
      { type: ANYREF, initial: NULL_ANY },
      { type: I32, initial: encodeConstantExpression(I32, 0) },
    ];
  }

  get exported(): NonNullable<WovenTool["globalExports"]> {
    return [
      { name: "objects.countdown", index: this.countdown },
      { name: "objects.object", index: this.#object },
      { name: "objects.entries", index: this.#entries },
    ];
  }

  /**
   * Returns the function () → () that counts entries of the host. Between two entries the caller stays the
   * same.
   */
  entered(): number {
    const { appended } = this.#surroundings;
    return appended.add(appended.typeIndex([], []), () =>
      new BodyBuilder()
        .op("global.get", this.#entries)
        .i32(1)
        .op("i32.add")
        .op("global.set", this.#entries)
        .finish(),
    );
  }

  chosen(type: number): { call: number; pass: number } {
    const existing = this.#chosen.get(type);
    if (existing !== undefined) return existing;
    const { appended } = this.#surroundings;
    const object = referenceType(type, false);
    const made = {
      pass: appended.typeIndex([object], [object]),
      call: appended.add(appended.typeIndex([object, I32, I32, I32], [object]), () => this.#body()),
    };
    this.#chosen.set(type, made);
    return made;
  }

  /**
   * Passes the object to the host and restarts the countdown with the host's answer; without a host, with the
   * mean.
   */
  #body(): Uint8Array {
    const { shadowMemory } = this.#surroundings;
    const body = new BodyBuilder();
    const access = (name: "i32.load" | "i32.store", field: number) =>
      shadowMemory === 0
        ? body.op(name, ALIGNED_I32, field)
        : body.op(name, ALIGNED_I32 | HAS_MEMORY_INDEX, shadowMemory, field);
    [Control.frame, Control.site, Control.size].forEach((field, index) => {
      body.i32(0).op("local.get", index + 1);
      access("i32.store", field);
    });
    body.i32(0).op("global.get", this.countdown);
    access("i32.store", Control.rest);
    body.op("local.get", 0).op("global.set", this.#object).op("call", this.#callHost);
    // Clears the global, so that it does not keep the object alive.
    body.op("ref.null", 0x71).op("global.set", this.#object);
    // The answer is one more, so that 0 means that there is no host.
    body.i32(0);
    access("i32.load", Control.next);
    body.i32(1).op("i32.sub").i32(this.#mean).i32(0);
    access("i32.load", Control.next);
    body.op("select").op("global.set", this.countdown);
    return body.op("local.get", 0).finish();
  }
}

/** Frames before the layout is planned. */
type PlannedFrames = Omit<Frames, "snippets">;

interface WovenFrames {
  readonly frames: Frames;
  readonly globals: NonNullable<WovenTool["globals"]>;
  readonly followedCalls: NonNullable<WovenTool["followedCalls"]>;
  /** Calls with a slot in their functions' frames, written by `encodeSlots`. */
  readonly slots: string;
}

/** Plans the frames of functions that make objects, with room for their counters. */
function planFrames({ module, scan, allocator }: ToolSurroundings): PlannedFrames {
  const calls = findCallSites(module);
  const counters = mostCounters(module);
  const targets = [...counters.keys()].filter((defined) => counters[defined] > 0);
  const plan = new FramePlan(
    module,
    scan,
    { ...allocator, functions: [], internals: [] },
    targets.map((defined) => defined + module.importedFunctionCount),
  );
  const bytes = counters.map((count) => count * COUNTER_BYTES);
  return { plan, calls, shapes: frameShapes(module, calls, plan, bytes) };
}

function frameSizes({ shapes }: PlannedFrames): ObjectsPlan["frames"] {
  return { functions: shapes.recordBytes.length, frameBytes: allFrameBytes(shapes) };
}

/** Inserts the code of frames into the module. It uses the tool's globals from `firstGlobal` on. */
function weaveFrames(
  { appended, shadowMemory }: ToolSurroundings,
  planned: PlannedFrames,
  layout: ObjectTablesLayout,
  firstGlobal: number,
): WovenFrames {
  const words = Control.frames;
  const constants = frameConstants(layout, {
    frameNext: words + FrameWord.frameNext,
    nodeNext: words + FrameWord.nodeNext,
  });
  const runtime = mergeRuntime(bytesOfBase64(FRAMES_RUNTIME_BASE64), {
    appended,
    shadowMemory,
    constants,
    firstGlobal: firstGlobal + 1,
    hosts: {},
  });
  const targets: FrameTargets = {
    memory: shadowMemory,
    slotGlobal: firstGlobal,
    enterFrame: runtime.functions.get("enterFrame") as number,
    hostWord: words + FrameWord.hostWord,
    rootSlot: words + FrameWord.rootSlot,
  };
  return {
    frames: { ...planned, snippets: new FrameSnippets(targets) },
    globals: [{ type: I32, initial: encodeConstantExpression(I32, targets.rootSlot) }, ...runtime.globals],
    followedCalls: { shadowMemory, ...entryStack(targets), entries: planned.plan.entries },
    slots: base64Of(encodeSlots(planned)),
  };
}

/**
 * Returns the most allocation counters that each function of the module can have: one per instruction, and
 * one per length.
 */
function mostCounters({ bodies, bytes }: WasmModule): number[] {
  return bodies.map(({ codeStart, end }) => {
    let counters = 0;
    for (let at = codeStart; at < end; ) {
      const op = opcodeIdAt(bytes, at);
      if (allocates(op)) counters += hasLength(op) ? 2 : 1;
      at = skipImmediates(bytes, skipOpcode(bytes, at), IMMEDIATE_KIND[op]);
    }
    return counters;
  });
}
