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
} from "../../../../code/wasm/index.ts";
import { base64Of, bytesOfBase64 } from "../../../../ground/bytes/base64.ts";
import {
  allFrameBytes,
  entryStack,
  FramePlan,
  FrameSnippets,
  type Frames,
  type FrameTargets,
  frameShapes,
} from "../../../contexts/frames/call-frames.ts";
import { findCallSites } from "../../../contexts/frames/call-sites.ts";
import { FrameWord, frameConstants } from "../../../contexts/frames/frame-memory.ts";
import { encodeSlots } from "../../../contexts/frames/slot-table.ts";
import { FRAMES_RUNTIME_BASE64 } from "../../../contexts/frames.generated.ts";
import { mergeRuntime } from "../../../rewrite/link.ts";
import { BodyBuilder } from "../../../rewrite/write/body-builder.ts";
import { HostSlot } from "../../host-interface.ts";
import type { ToolSurroundings, WovenTool } from "../../tool.ts";
import { constantObjects } from "../constant-objects.ts";
import { encodeEvents, FIRST_COUNTER } from "../event-table.ts";
import { allocates, hasLength, hasObjectTypes } from "../instructions.ts";
import { COUNTER_BYTES, Control } from "../layout.ts";
import {
  DEFAULT_SAMPLE_BYTES,
  endOfCounters,
  type ObjectsLayout,
  type ObjectsPlan,
  type ObjectTablesLayout,
  planObjectsLayout,
} from "../memory-plan.ts";
import { SizeModel } from "../size-model.ts";
import { ObjectsPass, type SamplingTargets } from "./objects-pass.ts";

/** Heap type `any` as a nullable reference, and the expression of its null. */
const ANYREF: ValType = 0x6e;
const NULL_ANY = Uint8Array.of(0xd0, 0x6e, 0x0b);
const ALIGNED_I32 = 2;
const ALIGNED_I64 = 3;
const HAS_MEMORY_INDEX = 0x40;

/** Weaves the counters of the objects tool into a module, and what chooses objects whose survival is followed. */
export function weaveObjects(around: ToolSurroundings): WovenTool | string {
  const { module, options, shadowMemory } = around;
  if (!hasObjectTypes(module))
    return "The module has no types of garbage-collected objects: the tool objects finds nothing in it.";
  const {
    fields = true,
    contexts = true,
    sampleBytes = DEFAULT_SAMPLE_BYTES,
    references = 4,
  } = options.objects ?? {};
  const sampling = sampleBytes === 0 ? undefined : new Sampling(around, sampleBytes);
  const planned = contexts ? planFrames(around) : undefined;
  const layout = planObjectsLayout({
    meanBytes: sampleBytes,
    references,
    fields,
    frames: planned && frameSizes(planned),
  });
  const samplingGlobals = sampling?.globals ?? [];
  const framed = planned && weaveFrames(around, planned, layout, around.firstGlobal + samplingGlobals.length);
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
    start: lengths.length === 0 ? -1 : noteLengths(around, layout.counters, lengths),
    entered: asksHost && sampling !== undefined ? sampling.entered() : -1,
    followedCalls: framed?.followedCalls,
    notTracked: [],
  };
}

/** A function that puts the lengths of arrays that constant expressions have made into their counters, by the code that pushes them. */
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

/** What a module needs to hand single objects to its host. */
class Sampling implements SamplingTargets {
  readonly #around: ToolSurroundings;
  readonly #mean: number;
  readonly countdown: number;
  /** The object that the host is asked to look at. */
  readonly #object: number;
  readonly #entries: number;
  readonly #callHost: number;
  readonly #chosen = new Map<number, { call: number; pass: number }>();

  constructor(around: ToolSurroundings, mean: number) {
    this.#around = around;
    this.#mean = mean;
    this.countdown = around.firstGlobal;
    this.#object = around.firstGlobal + 1;
    this.#entries = around.firstGlobal + 2;
    this.#callHost = around.callHost(HostSlot.Object, false);
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

  /** Function () → () that counts how often the host has come in: in between, who has called stays the same. */
  entered(): number {
    const { appended } = this.#around;
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
    const known = this.#chosen.get(type);
    if (known !== undefined) return known;
    const { appended } = this.#around;
    const object = referenceType(type, false);
    const made = {
      pass: appended.typeIndex([object], [object]),
      call: appended.add(appended.typeIndex([object, I32, I32, I32], [object]), () => this.#body()),
    };
    this.#chosen.set(type, made);
    return made;
  }

  /** Tells the host of the object, and starts the countdown again as it answers; without a host with the mean. */
  #body(): Uint8Array {
    const { shadowMemory } = this.#around;
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
    // Nothing keeps the object alive.
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

/** What is known of frames before the layout is. */
type PlannedFrames = Omit<Frames, "snippets">;

interface WovenFrames {
  readonly frames: Frames;
  readonly globals: NonNullable<WovenTool["globals"]>;
  readonly followedCalls: NonNullable<WovenTool["followedCalls"]>;
  /** The calls that have a slot in their functions' frames, as `encodeSlots` has written them. */
  readonly slots: string;
}

/** Frames of the functions that make objects, with room for the counters of these. */
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

/** Puts the code of frames into the module. The tool's globals from `firstGlobal` on are theirs. */
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

/** The most counters of allocations that each function of the module can have: one per instruction, and one per length. */
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
