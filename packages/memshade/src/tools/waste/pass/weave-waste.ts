import { base64Of } from "../../../bytes/base64.ts";
import { ByteWriter } from "../../../bytes/writer.ts";
import { allFrameBytes, type Frames } from "../../../contexts/frames/call-frames.ts";
import { entryStack, FrameSnippets } from "../../../contexts/frames/frame-snippets.ts";
import { encodeSlots } from "../../../contexts/frames/slot-table.ts";
import { type MergedRuntime, mergeRuntime } from "../../../rewrite/link/shadow-runtime.ts";
import { BodyBuilder } from "../../../rewrite/write/body-builder.ts";
import {
  encodeConstantExpression,
  globalType,
  I32,
  I64,
  importsOf,
  memoryType,
  type WasmModule,
} from "../../../wasm/index.ts";
import * as Op from "../../../wasm/op.generated.ts";
import type { WasteOptions } from "../../options.ts";
import type { ToolSurroundings, WovenTool } from "../../tool.ts";
import { Control, INIT_BUFFER_BYTES } from "../layout.ts";
import {
  LARGEST_MEMORY_BYTES,
  ownMemories,
  PAGE_BYTES,
  planWaste,
  ShadowIds,
  type WasteWishes,
  WORD_TABLES,
  wasteConstants,
} from "../memory-plan.ts";
import { encodeSites } from "../site-table.ts";
import { AccessFunctions } from "./access-functions.ts";
import { inlinedSites, knownFrequencies, siteFrequencies } from "./inlining.ts";
import { LoopTable } from "./loop-streams.ts";
import type { SummaryParts } from "./pass-parts.ts";
import { runtimeBytes } from "./runtime-bytes.ts";
import { findSites } from "./sites/find-sites.ts";
import { FixedRecords, FramedRecords } from "./sites/site-records.ts";
import { runsPerSite } from "./sites/site-runs.ts";
import { isExactImport } from "./sites/wasi-functions.ts";
import { zeroingFunctions } from "./sites/zeroing-functions.ts";
import { SummaryFunctions } from "./summary-functions.ts";
import { SummarySnippets } from "./summary-snippets.ts";
import { WastePass } from "./waste-pass.ts";
import { contextPlan, framesOf, inFrameOfZeroing } from "./weave-frames.ts";

const ACCESS_SIZES = [1, 2, 4, 8, 16];
/** Imports that a sentence names at most. */
const NAMED_IMPORTS = 10;
/** Characters of an import's name that a sentence has room for; component adapters put whole signatures there. */
const LONGEST_IMPORT = 48;
/** Weaves the waste tool into a module. */
export function weaveWaste(around: ToolSurroundings): WovenTool | string {
  const { module, appended, memory, memory64, shadowMemory } = around;
  const options = around.options.waste ?? {};
  const isPrecise = needsPreciseMode(options);
  const sites = findSites(module, zeroingFunctions(around.allocator.functions));
  const plan = options.contexts === true ? contextPlan(around, sites, isPrecise) : undefined;
  const framed = plan === undefined || isPrecise ? undefined : framesOf(around, plan, sites);
  const wishes: WasteWishes = {
    memoryBytes: around.memoryBytes,
    stores: sites.stores,
    loads: sites.loads,
    sites: sites.length,
    engine: isPrecise ? "full" : "brief",
    contexts: options.contexts === true,
    objects: options.objects === true,
    opaque: isVisible(module, memory) && !isCommand(module),
    frames:
      framed === undefined
        ? undefined
        : { functions: module.bodies.length, bytes: allFrameBytes(framed.shapes) },
    mostIds: options.mostIds,
  };
  const layout = planWaste(wishes);
  const { minimum, pageSizeLog2 } = memoryType(module, memory);
  if (minimum * 2 ** pageSizeLog2 > layout.covered)
    return (
      `The module's memory begins with ${Math.ceil((minimum * 2 ** pageSizeLog2) / 2 ** 20)} MiB, of which the waste tool ` +
      `can follow ${Math.floor(layout.covered / 2 ** 20)} MiB: it counts nothing of this module. ` +
      whatHelps(wishes, minimum * 2 ** pageSizeLog2)
    );
  // A memory from outside has the maximum that its maker gave it.
  const isHeld =
    memory < module.importedMemoryCount && pageSizeLog2 === 16 && layout.covered < around.memoryBytes;
  const hasNodes = plan !== undefined && isPrecise;
  const isCompatible = options.compat === "deadstores";
  const runtime = mergeRuntime(runtimeBytes(wishes.engine), {
    appended,
    shadowMemory,
    firstGlobal: around.firstGlobal + (hasNodes ? 1 : 0),
    constants: {
      ...wasteConstants(layout, wishes, isCompatible),
      NODE: hasNodes ? nodeAtHand(around.firstGlobal) : 0,
    },
    hosts: {},
    programMemory: memory,
    programMemory64: memory64,
    stackPointer: around.stackPointer,
    tables: Object.fromEntries(
      WORD_TABLES.slice(0, ownMemories(layout, wishes)).map((table, i) => [table, shadowMemory + 1 + i]),
    ),
  });
  const target = (name: string): number => runtime.functions.get(name) ?? -1;
  const framedRecords = new FramedRecords(layout, shadowMemory);
  const fixedRecords = new FixedRecords(layout, shadowMemory);
  const records = framed === undefined ? fixedRecords : framedRecords;
  const frameTargets = {
    memory: shadowMemory,
    // In precise mode it has the node of the context itself, 0 being the root.
    slotGlobal: around.firstGlobal + (hasNodes ? 0 : runtime.globals.length),
    enterFrame: framed === undefined ? -1 : target("enterFrame"),
    hostWord: layout.control + Control.hostWord,
    rootSlot: hasNodes ? 0 : layout.control + Control.rootSlot,
  };
  const frames: Frames | undefined =
    framed === undefined ? undefined : { ...framed, snippets: new FrameSnippets(frameTargets) };
  const functions = new AccessFunctions(
    appended,
    {
      loaded: target("loaded"),
      storing: target("storing"),
      stored: target("stored"),
      touched: target("hostRead"),
    },
    !isCompatible,
    memory64,
  );
  const loopTable = new LoopTable(layout.endBytes, LARGEST_MEMORY_BYTES - layout.endBytes);
  const summaryParts = (): SummaryParts => {
    const bySize = (name: string) => new Map(ACCESS_SIZES.map((size) => [size, target(`${name}${size}`)]));
    const snippets = new SummarySnippets(
      layout,
      shadowMemory,
      {
        same: target("same"),
        fresh: bySize("fresh"),
        assigned: target("assigned"),
        mixed: bySize("mixed"),
        markLineDirty: target("markLineDirty"),
      },
      records,
      !isCompatible,
    );
    const guessed = siteFrequencies(module, sites);
    const frequencies =
      options.siteRuns === undefined
        ? guessed
        : knownFrequencies(sites, runsPerSite(sites, options.siteRuns), guessed);
    return {
      snippets,
      functions: new SummaryFunctions(appended, snippets, memory64),
      inlined: inlinedSites(module, sites, frequencies),
      streams: {
        followsStores: !isCompatible,
        looped: target("looped"),
        table: loopTable,
        ends: layout.control + Control.ends,
        memory: shadowMemory,
      },
      framed:
        framed === undefined || frames === undefined
          ? undefined
          : { frames, sites: framed.sites, records: framedRecords },
      fixed: framed === undefined ? fixedRecords : undefined,
    };
  };
  const pass = new WastePass(around, sites, functions, isPrecise ? undefined : summaryParts(), {
    notePages: target("notePages"),
    growing: isHeld ? onPages(around, target("growing")) : -1,
    grown: onPages(around, target("grown")),
    hostMayRead: wishes.opaque ? target("hostMayRead") : -1,
    stackMoved: onStackMoved(around, target),
    records,
    firstId: isPrecise ? 1 : ShadowIds.first,
    nodes: !hasNodes
      ? undefined
      : {
          plan,
          nodeGlobal: frameTargets.slotGlobal,
          memory: shadowMemory,
          enter: target("enter"),
          snippets: new FrameSnippets(frameTargets),
        },
    storeSite: layout.control + Control.storeSite,
    loadSite: layout.control + Control.loadSite,
    allocationSite: layout.control + Control.allocationSite,
    allocationNode: layout.control + Control.allocationNode,
    zeroedSite: layout.control + Control.zeroedSite,
    returnSite: layout.control + Control.returnSite,
    notesPlaces: isPrecise,
  });
  pass.covered = layout.covered;
  const zeroing = zeroingFunctions(around.allocator.functions);
  const firstZeroing = sites.stores - zeroing.length + (isPrecise ? 1 : ShadowIds.first);
  const zeroedBy = new Map(zeroing.map((index, i) => [index, firstZeroing + i]));
  const allocated =
    frames === undefined || framed === undefined
      ? target("allocated")
      : inFrameOfZeroing(around, frames, framed.sites, {
          first: sites.length - zeroing.length,
          ids: [...zeroedBy.values()],
          zeroedSite: layout.control + Control.zeroedSite,
          records: framedRecords,
          allocated: target("allocated"),
        });
  return {
    name: "waste",
    pass,
    followedCalls:
      plan === undefined ? undefined : { shadowMemory, ...entryStack(frameTargets), entries: plan.entries },
    get shadowBytes() {
      return Math.ceil(loopTable.endBytes / PAGE_BYTES) * PAGE_BYTES;
    },
    data: () => loopTable.segments(shadowMemory),
    tableBytes: Array(ownMemories(layout, wishes)).fill(layout.covered * 4),
    describe: () => ({
      ...layout,
      engine: wishes.engine,
      contexts: wishes.contexts,
      objects: wishes.objects,
      compat: options.compat ?? "",
      siteTable: base64Of(encodeSites(sites)),
      inline: base64Of(pass.inline),
      leaders: base64Of(pass.leaders),
      frames: base64Of(pass.frames),
      ...(framed === undefined ? {} : { slots: base64Of(encodeSlots(framed)) }),
      ...(plan === undefined ? {} : { hostWord: frameTargets.hostWord }),
      exportsMemory: isVisible(module, memory),
      opaque: wishes.opaque,
      limited: layout.covered < around.memoryBytes,
    }),
    start: starter(around, isCompatible ? -1 : target("segment"), target("notePages")),
    memoryLimit: layout.covered < around.memoryBytes ? layout.covered : undefined,
    globals: globalsOf(runtime, plan && frameTargets.slotGlobal - around.firstGlobal, frameTargets.rootSlot),
    exports: {
      hostRead: target("hostRead"),
      hostWrote: target("hostWrote"),
      hostWriting: target("initializing"),
      hostWroteOver: target("initialized"),
      hostMayRead: target("hostMayRead"),
    },
    listeners: {
      copy: target("copying"),
      fill: target("filling"),
      arrived: target("hostWrote"),
      left: target("left"),
      init: target("initialized"),
      initPiece: target("initializing"),
      initBuffer: {
        memory: shadowMemory,
        address: layout.control + Control.initBytes,
        bytes: INIT_BUFFER_BYTES,
      },
    },
    allocations:
      around.allocator.functions.length === 0
        ? undefined
        : {
            allocated,
            reallocated: target("reallocated"),
            released: target("released"),
            zeroedBy: (index) => zeroedBy.get(index) ?? 0,
          },
    entered: wishes.opaque ? target("hostMayRead") : -1,
    notTracked: notTracked(around, wishes.opaque),
  };
}

/** What somebody can do whose memory begins with more bytes than can be followed. */
function whatHelps(wishes: WasteWishes, bytes: number): string {
  const { covered } = planWaste({
    ...wishes,
    engine: "brief",
    contexts: false,
    objects: false,
    frames: undefined,
  });
  return covered >= bytes
    ? `Without --contexts, --pairs and the like it follows ${Math.floor(covered / 2 ** 20)} MiB.`
    : "Build it with a smaller initial memory that may grow: it is followed, and held at that size.";
}

/** Code that pushes the node of the context at hand. */
function nodeAtHand(global: number): Uint8Array {
  return new ByteWriter(8).u8(Op.GLOBAL_GET).u32Leb(global).finish();
}

/** The runtime's globals with one more for contexts at place `slot`; undefined: nobody tells contexts apart. */
function globalsOf({ globals }: MergedRuntime, slot: number | undefined, root: number): WovenTool["globals"] {
  if (slot === undefined) return globals;
  const own = { type: I32, initial: encodeConstantExpression(I32, root | 0) };
  return [...globals.slice(0, slot), own, ...globals.slice(slot)];
}

function notTracked({ module, memory, allocator }: ToolSurroundings, opaque: boolean): string[] {
  const sentences: string[] = [];
  if (allocator.functions.length === 0)
    sentences.push("No allocator was found: freed memory counts as memory that is still in use.");
  const others = otherMemories(module);
  if (others.length > 0)
    sentences.push(
      `Only memory 0 of the module's ${others.length + 1} memories is followed: what happens in ${others.join(", ")} is not counted.`,
    );
  const unknown = importsOf(module, "function").filter((from) => !isExactImport(from));
  const names = unknown.slice(0, NAMED_IMPORTS).map(({ module: from, field }) => {
    const name = `${from}.${field}`;
    return name.length > LONGEST_IMPORT ? `${name.slice(0, LONGEST_IMPORT - 1)}…` : name;
  });
  if (unknown.length > names.length) names.push(`${unknown.length - names.length} more`);
  if (opaque) {
    const which = names.length === 0 ? "" : ` (imports: ${names.join(", ")})`;
    sentences.push(
      `The host does not say what it reads: whatever is unread when it is in control counts as read by it${which}.`,
    );
  } else if (names.length > 0 && isVisible(module, memory))
    sentences.push(`What these imports read and write is not seen: ${names.join(", ")}.`);
  const { shared } = memoryType(module, memory);
  if (memory < module.importedMemoryCount || shared) {
    const [why, others] = shared
      ? ["is shared", "other threads and modules"]
      : ["comes from outside", "other modules"];
    sentences.push(
      opaque
        ? `The memory ${why}: ${others} that share it are part of the host, and what they store is not seen.`
        : `The memory ${why}: what ${others} load and store there is not seen.`,
    );
  }
  return sentences;
}

/** Memories other than the first by their numbers, with the names that they are imported or exported by. */
function otherMemories(module: WasmModule): string[] {
  const imported = importsOf(module, "memory");
  const names: string[] = [];
  for (let index = 1; index < imported.length + module.memories.length; index++) {
    const from = imported[index];
    const exported = module.exports.find((one) => one.kind === "memory" && one.index === index)?.name;
    const name = exported ?? (from === undefined ? undefined : `${from.module}.${from.field}`);
    names.push(name === undefined ? `memory ${index}` : `memory ${index} (${name})`);
  }
  return names;
}

/** The function that takes the place of setting the stack pointer; −1: there is none. */
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

/** A function of the runtime that is handed a number of pages, or −1, and returns such, as a function on the memory's own type. */
function onPages({ appended, memory64 }: ToolSurroundings, target: number): number {
  if (!memory64) return target;
  return appended.add(appended.typeIndex([I64], [I64]), () => {
    const body = new BodyBuilder().op("local.get", 0).op("i32.wrap_i64").op("call", target);
    // More pages than 32 bits say are refused as they are.
    body.op("i64.extend_i32_s").op("local.get", 0);
    body.op("local.get", 0).i64(32).op("i64.shr_s").op("i64.eqz").op("select");
    return body.finish();
  });
}

/** The function that runs first: marks the data segments as initialised. */
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

/** Whether what is asked for takes writers, readers and values instead of one id per byte. */
function needsPreciseMode({ pairs, objects }: WasteOptions): boolean {
  return Boolean(pairs || objects);
}

/** A program that WASI starts and that imports nothing else: its host says exactly what it reads and writes. */
function isCommand(module: WasmModule): boolean {
  const starts = module.exports.some(({ kind, name }) => kind === "function" && name === "_start");
  return starts && importsOf(module, "function").every(isExactImport);
}

/** Whether the host can look at the memory. */
function isVisible(module: WasmModule, memory: number): boolean {
  return (
    memory < module.importedMemoryCount ||
    module.exports.some(({ kind, index }) => kind === "memory" && index === memory)
  );
}
