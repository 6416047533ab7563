import {
  encodeConstantExpression,
  globalType,
  I32,
  I64,
  IMMEDIATE_KIND,
  importsOf,
  memoryType,
  opcodeIdAt,
  skipImmediates,
  skipOpcode,
  type ValType,
  type WasmModule,
} from "../../../../code/wasm/index.ts";
import * as Op from "../../../../code/wasm/op.generated.ts";
import { base64Of, bytesOfBase64 } from "../../../../ground/bytes/base64.ts";
import { readU32Leb } from "../../../../ground/bytes/leb128.ts";
import { WASM_PAGE_BYTES } from "../../../../ground/bytes/sizes.ts";
import { ByteWriter } from "../../../../ground/bytes/writer.ts";
import { fixedFrameBase } from "../../../contexts/frame-base.ts";
import {
  entryStack,
  FrameSnippets,
  type Frames,
  type FrameTargets,
} from "../../../contexts/frames/call-frames.ts";
import { encodeSlots } from "../../../contexts/frames/slot-table.ts";
import { HostFrameFunctions, type ShadowStack } from "../../../contexts/host-frame-functions.ts";
import { STACK_FRAME_BYTES } from "../../../contexts/layout.ts";
import { ShadowStackPass, StackPlan } from "../../../contexts/shadow-stack-pass.ts";
import { FunctionFact } from "../../../rewrite/facts/module-scan.ts";
import { otherMemoriesNote } from "../../../rewrite/facts/other-memories.ts";
import { type MergedRuntime, mergeRuntime } from "../../../rewrite/link.ts";
import type { MemoryListeners } from "../../../rewrite/tool.ts";
import { BodyBuilder } from "../../../rewrite/write/body-builder.ts";
import type { ToolSurroundings, WovenTool } from "../../tool.ts";
import { Control, INIT_BUFFER_BYTES } from "../layout.ts";
import {
  begunAt,
  LARGEST_MEMORY_BYTES,
  ownMemories,
  ShadowIds,
  STACK_BASE_BYTES,
  WORD_TABLES,
  wasteConstants,
} from "../memory-plan.ts";
import { WASTE_PRECISE_BASE64 } from "../precise.generated.ts";
import { encodeSites } from "../site-table.ts";
import { WASTE_SUMMARY_BASE64 } from "../summary.generated.ts";
import { AccessFunctions } from "./access-functions.ts";
import { inlinedSites, knownFrequencies, runsPerSite, siteFrequencies } from "./inlining.ts";
import { LoopTable, type PassTargets, SummaryFunctions, type SummaryParts } from "./node-calls.ts";
import { FixedRecords, FramedRecords } from "./sites.ts";
import { SummarySnippets } from "./summary-snippets.ts";
import { WastePass } from "./waste-pass.ts";
import { inFrameOfZeroing, planWeaving, refusal, type WeavingPlan } from "./weaving-plan.ts";

const ACCESS_SIZES = [1, 2, 4, 8, 16];

export function weaveWaste(surroundings: ToolSurroundings): WovenTool | string {
  const plan = planWeaving(surroundings);
  return refusal(plan) ?? new WasteWeaver(plan).weave();
}

/** Adds the runtime to a module as planned, and makes the pass that calls it. */
class WasteWeaver {
  readonly #plan: WeavingPlan;
  readonly #surroundings: ToolSurroundings;
  readonly #runtime: MergedRuntime;
  /** Shadow stack for the call paths of allocations. Its frames are those of another tool, or the tool's own. */
  readonly #stack: ShadowStack | undefined;
  readonly #stackPlan: StackPlan | undefined;
  readonly #frameTargets: FrameTargets;
  readonly #frames: Frames | undefined;
  readonly #framedRecords: FramedRecords;
  readonly #fixedRecords: FixedRecords;
  readonly #loopTable: LoopTable;

  constructor(plan: WeavingPlan) {
    const { surroundings, framed, layout } = plan;
    this.#plan = plan;
    this.#surroundings = surroundings;
    this.#stackPlan = plan.wishes.ownStack
      ? new StackPlan(surroundings.module, surroundings.scan, surroundings.allocator)
      : undefined;
    this.#stack = this.#stackPlan === undefined ? surroundings.stack : this.#ownStack();
    this.#runtime = this.#mergeRuntime();
    this.#framedRecords = new FramedRecords(layout, surroundings.shadowMemory);
    this.#fixedRecords = new FixedRecords(layout, surroundings.shadowMemory);
    this.#frameTargets = this.#findFrameTargets();
    this.#frames = framed && { ...framed, snippets: new FrameSnippets(this.#frameTargets) };
    this.#loopTable = new LoopTable(layout.endBytes, LARGEST_MEMORY_BYTES - layout.endBytes);
  }

  weave(): WovenTool {
    const { surroundings, isCompatible, contexts, wishes, layout } = this.#plan;
    const { shadowMemory } = surroundings;
    const target = this.#target;
    const pass = this.#makePass();
    const allocations = this.#allocations();
    const loopTable = this.#loopTable;
    const stack = this.#stack;
    const stackPlan = this.#stackPlan;
    return {
      name: "waste",
      pass,
      ...(stack === undefined || stackPlan === undefined
        ? {}
        : {
            beside: new ShadowStackPass(
              stackPlan,
              stack,
              new HostFrameFunctions(surroundings.appended, stack),
            ),
            followedStack: { ...stack, entries: stackPlan.entries },
            stack,
          }),
      followedCalls: contexts && {
        shadowMemory,
        ...entryStack(this.#frameTargets),
        entries: contexts.entries,
      },
      get shadowBytes() {
        return Math.ceil(loopTable.endBytes / WASM_PAGE_BYTES) * WASM_PAGE_BYTES;
      },
      data: () => loopTable.segments(shadowMemory),
      tableBytes: Array(ownMemories(layout, wishes)).fill(layout.covered * 4),
      describe: () => this.#describe(pass),
      start: starter(surroundings, isCompatible ? -1 : target("segment"), target("notePages")),
      memoryLimit: layout.covered < surroundings.memoryBytes ? layout.covered : undefined,
      globals: this.#globals(),
      exports: {
        hostRead: target("hostRead"),
        hostWrote: target("hostWrote"),
        hostWriting: target("initializing"),
        hostWroteOver: target("initialized"),
        hostMayRead: target("hostMayRead"),
      },
      listeners: this.#memoryListeners(),
      allocations: allocations && {
        ...allocations,
        reallocated: target("reallocated"),
        released: target("released"),
      },
      entered: wishes.opaque ? target("hostMayRead") : -1,
      isQuiet: (index) => isQuiet(surroundings, index),
      notTracked: unseenBy(this.#plan),
    };
  }

  /** Returns a function of the runtime by its name, −1 if it has none of that name. */
  readonly #target = (name: string): number => this.#runtime.functions.get(name) ?? -1;

  /** True if a global keeps the current context node: precise mode with contexts. */
  get #hasNodes(): boolean {
    return this.#plan.contexts !== undefined && this.#plan.isPrecise;
  }

  /** Returns a shadow stack in the tool's own memory. The first global has its newest frame. */
  #ownStack(): ShadowStack {
    const { stackWord } = this.#plan.layout;
    return {
      shadowMemory: this.#surroundings.shadowMemory,
      stackGlobal: this.#surroundings.firstGlobal,
      frames: fixedFrameBase({ stack: stackWord + STACK_BASE_BYTES, hostWord: stackWord }),
    };
  }

  /** Index of the first global after that of the stack. */
  get #firstGlobal(): number {
    return this.#surroundings.firstGlobal + (this.#stackPlan === undefined ? 0 : 1);
  }

  #mergeRuntime(): MergedRuntime {
    const { surroundings, layout, wishes, isCompatible } = this.#plan;
    const { shadowMemory } = surroundings;
    const firstGlobal = this.#firstGlobal;
    const hasNodes = this.#hasNodes;
    return mergeRuntime(runtimeBytes(wishes.engine), {
      appended: surroundings.appended,
      shadowMemory,
      firstGlobal: firstGlobal + (hasNodes ? 1 : 0),
      constants: {
        ...wasteConstants(layout, wishes, isCompatible),
        NODE: hasNodes ? nodeAtHand(firstGlobal) : 0,
      },
      hosts: {},
      programMemory: surroundings.memory,
      programMemory64: surroundings.memory64,
      stackPointer: surroundings.stackPointer,
      frames: this.#stack && { memory: this.#stack.shadowMemory, global: this.#stack.stackGlobal },
      tables: Object.fromEntries(
        WORD_TABLES.slice(0, ownMemories(layout, wishes)).map((table, i) => [table, shadowMemory + 1 + i]),
      ),
    });
  }

  /**
   * Returns the targets of frames. In precise mode the slot's global has the context's node itself, with 0 as the root.
   */
  #findFrameTargets(): FrameTargets {
    const { surroundings, framed, layout } = this.#plan;
    const hasNodes = this.#hasNodes;
    return {
      memory: surroundings.shadowMemory,
      slotGlobal: this.#firstGlobal + (hasNodes ? 0 : this.#runtime.globals.length),
      enterFrame: framed === undefined ? -1 : this.#target("enterFrame"),
      hostWord: layout.control + Control.hostWord,
      rootSlot: hasNodes ? 0 : layout.control + Control.rootSlot,
    };
  }

  /** Returns the globals: that of the stack, then the runtime's, with one more for contexts. */
  #globals(): NonNullable<WovenTool["globals"]> {
    const { globals } = this.#runtime;
    const stack =
      this.#stackPlan === undefined
        ? []
        : [i32Global(this.#plan.layout.stackWord + STACK_BASE_BYTES - STACK_FRAME_BYTES)];
    if (this.#plan.contexts === undefined) return [...stack, ...globals];
    const { slotGlobal, rootSlot } = this.#frameTargets;
    const place = slotGlobal - this.#firstGlobal;
    return [...stack, ...globals.slice(0, place), i32Global(rootSlot), ...globals.slice(place)];
  }

  #makePass(): WastePass {
    const { surroundings, sites, isPrecise, isCompatible } = this.#plan;
    const target = this.#target;
    const functions = new AccessFunctions(
      surroundings.appended,
      {
        loaded: target("loaded"),
        storing: target("storing"),
        stored: target("stored"),
        touched: target("hostRead"),
      },
      !isCompatible,
      surroundings.memory64,
    );
    const summary = isPrecise ? undefined : this.#summaryParts();
    return new WastePass(surroundings, sites, functions, summary, this.#passTargets());
  }

  #summaryParts(): SummaryParts {
    const { surroundings, framed, isCompatible, layout } = this.#plan;
    const snippets = this.#summarySnippets();
    return {
      snippets,
      functions: new SummaryFunctions(surroundings.appended, snippets, surroundings.memory64),
      inlined: this.#inlinedSites(),
      streams: {
        followsStores: !isCompatible,
        looped: this.#target("looped"),
        table: this.#loopTable,
        ends: layout.control + Control.ends,
        memory: surroundings.shadowMemory,
      },
      framed:
        framed === undefined || this.#frames === undefined
          ? undefined
          : { frames: this.#frames, sites: framed.sites, records: this.#framedRecords },
      fixed: framed === undefined ? this.#fixedRecords : undefined,
    };
  }

  #summarySnippets(): SummarySnippets {
    const { surroundings, framed, isCompatible, layout } = this.#plan;
    const target = this.#target;
    const bySize = (name: string) => new Map(ACCESS_SIZES.map((size) => [size, target(`${name}${size}`)]));
    return new SummarySnippets(
      layout,
      surroundings.shadowMemory,
      {
        same: target("same"),
        fresh: bySize("fresh"),
        assigned: target("assigned"),
        mixed: bySize("mixed"),
        markLineDirty: target("markLineDirty"),
      },
      framed === undefined ? this.#fixedRecords : this.#framedRecords,
      !isCompatible,
    );
  }

  #inlinedSites(): Uint8Array {
    const { surroundings, sites } = this.#plan;
    const { siteRuns } = surroundings.options.waste ?? {};
    const guessed = siteFrequencies(surroundings.module, sites);
    const frequencies =
      siteRuns === undefined ? guessed : knownFrequencies(sites, runsPerSite(sites, siteRuns), guessed);
    return inlinedSites(surroundings.module, sites, frequencies);
  }

  #passTargets(): PassTargets {
    const { surroundings, contexts, exact, framed, isPrecise, layout, wishes } = this.#plan;
    const target = this.#target;
    const { control, covered } = layout;
    return {
      exactImports: exact,
      covered,
      notePages: target("notePages"),
      growing: this.#isHeldByPass() ? onPages(surroundings, target("growing")) : -1,
      grown: onPages(surroundings, target("grown")),
      hostMayRead: wishes.opaque ? target("hostMayRead") : -1,
      stackMoved: onStackMoved(surroundings, target),
      records: framed === undefined ? this.#fixedRecords : this.#framedRecords,
      firstId: isPrecise ? 1 : ShadowIds.first,
      nodes:
        contexts === undefined || !isPrecise
          ? undefined
          : {
              plan: contexts,
              nodeGlobal: this.#frameTargets.slotGlobal,
              memory: surroundings.shadowMemory,
              enter: target("enter"),
              snippets: new FrameSnippets(this.#frameTargets),
            },
      storeSite: control + Control.storeSite,
      loadSite: control + Control.loadSite,
      allocationSite: control + Control.allocationSite,
      allocationNode: control + Control.allocationNode,
      zeroedSite: control + Control.zeroedSite,
      returnSite: control + Control.returnSite,
      loopsOf:
        contexts === undefined ? (key, isStore) => begunAt(layout, key, { isStore, isPrecise }) : undefined,
      notesPlaces: isPrecise,
    };
  }

  /** True if the pass must limit the memory's growth. An imported memory has the maximum that its creator gave it. */
  #isHeldByPass(): boolean {
    const { module, memory, memoryBytes } = this.#surroundings;
    return memoryType(module, memory).pageSizeLog2 === 16 && this.#plan.layout.covered < memoryBytes;
  }

  /**
   * Returns the function that is called for a new block, and its argument for zeroed ones; undefined if nothing
   * allocates.
   */
  #allocations(): { allocated: number; zeroedBy(index: number): number } | undefined {
    const { surroundings, framed, isPrecise, layout, sites, zeroing } = this.#plan;
    const first = sites.stores - zeroing.length + (isPrecise ? 1 : ShadowIds.first);
    const zeroedBy = new Map(zeroing.map((index, i) => [index, first + i]));
    const runtimeAllocated = this.#target("allocated");
    const allocated =
      this.#frames === undefined || framed === undefined
        ? runtimeAllocated
        : inFrameOfZeroing(surroundings, this.#frames, framed.sites, {
            first: sites.length - zeroing.length,
            ids: [...zeroedBy.values()],
            zeroedSite: layout.control + Control.zeroedSite,
            records: this.#framedRecords,
            allocated: runtimeAllocated,
          });
    if (surroundings.allocator.functions.length === 0) return undefined;
    return { allocated, zeroedBy: (index) => zeroedBy.get(index) ?? 0 };
  }

  #memoryListeners(): MemoryListeners {
    const target = this.#target;
    return {
      copy: target("copying"),
      fill: target("filling"),
      arrived: target("initialized"),
      left: target("left"),
      init: target("initialized"),
      arrivingPiece: target("initializing"),
      pieceBuffer: {
        memory: this.#surroundings.shadowMemory,
        address: this.#plan.layout.control + Control.initBytes,
        bytes: INIT_BUFFER_BYTES,
      },
    };
  }

  #describe(pass: WastePass): ReturnType<WovenTool["describe"]> {
    const { surroundings, contexts, framed, isVisible, layout, sites, wishes } = this.#plan;
    return {
      ...layout,
      engine: wishes.engine,
      contexts: wishes.contexts,
      objects: wishes.objects,
      compat: surroundings.options.waste?.compat ?? "",
      siteTable: base64Of(encodeSites(sites)),
      inline: base64Of(pass.inline),
      leaders: base64Of(pass.leaders),
      frames: base64Of(pass.frames),
      updates: base64Of(pass.updates),
      ...(pass.repeated === undefined ? {} : { repeated: base64Of(pass.repeated.encode()) }),
      loops: this.#loopTable.address,
      loopsEnd: this.#loopTable.endBytes,
      ...(framed === undefined ? {} : { slots: base64Of(encodeSlots(framed)) }),
      ...(contexts === undefined ? {} : { hostWord: this.#frameTargets.hostWord }),
      exportsMemory: isVisible,
      opaque: wishes.opaque,
      limited: layout.covered < surroundings.memoryBytes,
      mostPages: wishes.mostPages,
    };
  }
}

function i32Global(value: number): { type: ValType; initial: Uint8Array } {
  return { type: I32, initial: encodeConstantExpression(I32, value | 0) };
}

function nodeAtHand(global: number): Uint8Array {
  return new ByteWriter(8).u8(Op.GLOBAL_GET).u32Leb(global).finish();
}

const NAMED_IMPORTS = 10;
/** Longest name of an import in a sentence, characters. Component adapters use whole signatures as names. */
const LONGEST_IMPORT = 48;

function unseenBy({ surroundings, isVisible, exact, wishes: { opaque } }: WeavingPlan): string[] {
  const { module, memory, allocator } = surroundings;
  const sentences: string[] = [];
  if (allocator.functions.length === 0)
    sentences.push("No allocator was found: freed memory counts as still in use.");
  sentences.push(...otherMemoriesNote(module));
  const names = unknownImports(module, exact);
  if (opaque) {
    const importList = names.length === 0 ? "" : ` (imports: ${names.join(", ")})`;
    sentences.push(
      `The host may read any memory: bytes that are unread when it is called count as read by the host${importList}.`,
    );
  } else if (names.length > 0 && isVisible)
    sentences.push(`Reads and writes of these imports are not counted: ${names.join(", ")}.`);
  const { shared } = memoryType(module, memory);
  if (memory < module.importedMemoryCount || shared) {
    const [why, others] = shared
      ? ["is shared", "other threads and modules"]
      : ["is imported", "other modules"];
    sentences.push(
      opaque
        ? `The memory ${why}: ${others} that use it count as part of the host, and their stores are not counted.`
        : `The memory ${why}: loads and stores of ${others} are not counted.`,
    );
  }
  return sentences;
}

function unknownImports(module: WasmModule, exact: ReadonlySet<number>): string[] {
  const unknown = importsOf(module, "function").filter((_, index) => !exact.has(index));
  const names = unknown.slice(0, NAMED_IMPORTS).map(({ module: from, field }) => {
    const name = `${from}.${field}`;
    return name.length > LONGEST_IMPORT ? `${name.slice(0, LONGEST_IMPORT - 1)}…` : name;
  });
  if (unknown.length > names.length) names.push(`${unknown.length - names.length} more`);
  return names;
}

const LOUD = FunctionFact.HasAccess | FunctionFact.HasCall | FunctionFact.Grows;

/**
 * True if a function changes nothing that the tool records: no memory access, no call, no new stack pointer. The host's
 * reads before it can be recorded at the next function that does one of these.
 */
function isQuiet({ module, scan, stackPointer }: ToolSurroundings, index: number): boolean {
  const defined = index - module.importedFunctionCount;
  if (defined < 0 || (scan.facts[defined] & LOUD) !== 0) return false;
  const { bytes } = module;
  const { codeStart, end } = module.bodies[defined];
  for (let at = codeStart; at < end; ) {
    const op = opcodeIdAt(bytes, at);
    const immediates = skipOpcode(bytes, at);
    if (op === Op.GLOBAL_SET && readU32Leb(bytes, immediates) === stackPointer) return false;
    at = skipImmediates(bytes, immediates, IMMEDIATE_KIND[op]);
  }
  return true;
}

function runtimeBytes(engine: "brief" | "full"): Uint8Array {
  return bytesOfBase64(engine === "full" ? WASTE_PRECISE_BASE64 : WASTE_SUMMARY_BASE64);
}

/**
 * Returns the function that replaces instructions that set the stack pointer; −1: none. `target` finds a function of
 * the runtime by its name.
 */
function onStackMoved(
  { module, appended, stackPointer }: ToolSurroundings,
  target: (name: string) => number,
): number {
  if (stackPointer < 0) return -1;
  const { type } = globalType(module, stackPointer);
  const moved = type === I32 ? target("moved") : -1;
  if (moved >= 0) return moved;
  const stackMoved = target("stackMoved");
  return appended.add(appended.typeIndex([type], []), () => {
    const body = new BodyBuilder().op("global.get", stackPointer);
    if (type === I64) body.op("i32.wrap_i64");
    body.op("local.get", 0);
    if (type === I64) body.op("i32.wrap_i64");
    body.op("call", stackMoved);
    return body.op("local.get", 0).op("global.set", stackPointer).finish();
  });
}

/** Wraps a function of the runtime that takes and returns a number of pages, or −1, for the memory's address type. */
function onPages({ appended, memory64 }: ToolSurroundings, target: number): number {
  if (!memory64) return target;
  return appended.add(appended.typeIndex([I64], [I64]), () => {
    const body = new BodyBuilder().op("local.get", 0).op("i32.wrap_i64").op("call", target);
    // Numbers of pages above 32 bits are passed on, and refused.
    body.op("i64.extend_i32_s").op("local.get", 0);
    body.op("local.get", 0).i64(32).op("i64.shr_s").op("i64.eqz").op("select");
    return body.finish();
  });
}

/** Returns the function that runs first. It reports the data segments to `segment`, unless that is −1. */
function starter(
  { module, appended, memory, memory64 }: ToolSurroundings,
  segment: number,
  notePages: number,
): number {
  return appended.add(appended.typeIndex([], []), () => {
    const body = new BodyBuilder().op("call", notePages);
    for (const data of module.data)
      if (segment >= 0 && data.offset !== undefined && data.memory === memory) {
        const { start, end } = data.offset;
        body.range(module.bytes, start, end - 1);
        if (memory64) body.op("i32.wrap_i64");
        body.i32(data.end - data.start).op("call", segment);
      }
    return body.finish();
  });
}
