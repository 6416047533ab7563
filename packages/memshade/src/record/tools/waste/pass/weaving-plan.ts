import {
  ACCESS_KIND,
  AccessKind,
  I32,
  IMMEDIATE_KIND,
  type MemoryType,
  memoryType,
  opcodeIdAt,
  skipImmediates,
  skipOpcode,
  type WasmModule,
} from "../../../../code/wasm/index.ts";
import * as Op from "../../../../code/wasm/op.generated.ts";
import { readU32Leb } from "../../../../ground/bytes/leb128.ts";
import {
  allFrameBytes,
  FramePlan,
  type FrameShapes,
  type Frames,
  frameShapes,
  requestOf,
} from "../../../contexts/frames/call-frames.ts";
import { type CallSites, findCallSites } from "../../../contexts/frames/call-sites.ts";
import { FRAME_HEADER_BYTES } from "../../../contexts/layout.ts";
import { BodyBuilder } from "../../../rewrite/write/body-builder.ts";
import type { ToolSurroundings } from "../../tool.ts";
import { type FramedSites, framedSites } from "../framed-sites.ts";
import { tooLargeSentence } from "../memory-limit.ts";
import { isPreciseMode, planWaste, type WasteLayout, type WasteWishes } from "../memory-plan.ts";
import { HOST_CALL, type SiteTable, siteTable, ZEROING_CALL } from "../site-table.ts";
import { BodySink } from "./body-sink.ts";
import { exactImports, type FramedRecords, isCommand, zeroingFunctions } from "./sites.ts";

const HAS_MEMORY_INDEX = 0x40;

/**
 * Finds the sites of a module. `zeroing`: indices of functions that hand out zeroed blocks. Direct calls of them are
 * stores.
 */
export function findSites(module: WasmModule, zeroing: readonly number[]): SiteTable {
  const { bytes, bodies, codePayloadStart, importedFunctionCount } = module;
  const [offset, op]: [number[], number[]] = [[], []];
  const firstOfFunction = new Int32Array(bodies.length + 1);
  const add = (pos: number, opcode: number): void => {
    offset.push(pos - codePayloadStart);
    op.push(opcode);
  };
  const siteOf = (opcode: number, immediates: number): number | undefined => {
    const kind = ACCESS_KIND[opcode];
    if (kind !== AccessKind.None && kind !== AccessKind.Notify) {
      const memory = bytes[immediates] & HAS_MEMORY_INDEX ? readU32Leb(bytes, immediates + 1) : 0;
      return memory === 0 ? opcode : undefined;
    }
    if (opcode === Op.MEMORY_COPY || opcode === Op.MEMORY_FILL || opcode === Op.MEMORY_INIT) return opcode;
    if (opcode !== Op.CALL && opcode !== Op.RETURN_CALL) return undefined;
    const callee = readU32Leb(bytes, immediates);
    if (callee < importedFunctionCount) return HOST_CALL;
    return zeroing.includes(callee) ? ZEROING_CALL : undefined;
  };
  bodies.forEach((body, defined) => {
    firstOfFunction[defined] = op.length;
    for (let pos = body.codeStart; pos < body.end; ) {
      const opcode = opcodeIdAt(bytes, pos);
      const immediates = skipOpcode(bytes, pos);
      const site = siteOf(opcode, immediates);
      if (site !== undefined) add(pos, site);
      pos = skipImmediates(bytes, immediates, IMMEDIATE_KIND[opcode]);
    }
  });
  firstOfFunction[bodies.length] = op.length;
  const definedOf = zeroing.map((index) => index - importedFunctionCount);
  for (const defined of definedOf) add(bodies[defined].codeStart, ZEROING_CALL);
  return siteTable({
    offset: Int32Array.from(offset),
    op: Int32Array.from(op),
    firstOfFunction,
    zeroing: definedOf,
  });
}

export interface WeavingPlan {
  surroundings: ToolSurroundings;
  /** True if writers, readers and values are recorded per byte, instead of one id. */
  isPrecise: boolean;
  /** True if the tool counts as the Valgrind tool deadstores does. */
  isCompatible: boolean;
  sites: SiteTable;
  zeroing: readonly number[];
  /** Effects of calls on the context; undefined without contexts. */
  contexts: FramePlan | undefined;
  /** Frames of contexts; undefined without contexts, and in precise mode, which uses nodes. */
  framed: PlannedFrames | undefined;
  isVisible: boolean;
  /** Indices of imported functions whose reads and writes are known. */
  exact: ReadonlySet<number>;
  wishes: WasteWishes;
  layout: WasteLayout;
}

export function planWeaving(surroundings: ToolSurroundings): WeavingPlan {
  const { module, memory, memoryBytes, allocator } = surroundings;
  const { waste = {} } = surroundings.options;
  const { contexts, objects, compat, mostIds } = waste;
  const isPrecise = isPreciseMode(waste);
  const zeroing = zeroingFunctions(allocator.functions);
  const sites = findSites(module, zeroing);
  const plan = contexts === true ? contextPlan(surroundings, sites, isPrecise) : undefined;
  const framed = plan === undefined || isPrecise ? undefined : framesOf(surroundings, plan, sites);
  const isVisible = isMemoryVisible(module, memory);
  const exact = exactImports(module, surroundings.options.glue);
  // Contexts are call paths already in precise mode.
  const keepsPaths = allocator.functions.length > 0 && !(isPrecise && contexts === true);
  const wishes: WasteWishes = {
    memoryBytes,
    mostPages: mostPages(memoryType(module, memory)),
    stores: sites.stores,
    loads: sites.loads,
    sites: sites.length,
    engine: isPrecise ? "full" : "brief",
    contexts: contexts === true,
    objects: objects === true,
    opaque: isVisible && !isCommand(module, exact),
    paths: keepsPaths,
    ownStack: keepsPaths && surroundings.stack === undefined,
    frames: framed && { functions: module.bodies.length, bytes: allFrameBytes(framed.shapes) },
    mostIds,
  };
  return {
    surroundings,
    isPrecise,
    isCompatible: compat === "deadstores",
    sites,
    zeroing,
    contexts: plan,
    framed,
    isVisible,
    exact,
    wishes,
    layout: planWaste(wishes),
  };
}

/** Returns the largest memory that engines allow by address type, unless it is declared smaller: 4 GiB or 16 GiB. */
function mostPages({ maximum = Number.POSITIVE_INFINITY, index64 }: MemoryType): number {
  return Math.min(maximum, index64 ? 2 ** 18 : 2 ** 16);
}

/** Returns a sentence why the tool cannot record a module; undefined if it can. */
export function refusal({ surroundings, layout }: WeavingPlan): string | undefined {
  const { minimum, pageSizeLog2 } = memoryType(surroundings.module, surroundings.memory);
  const bytes = minimum * 2 ** pageSizeLog2;
  if (bytes <= layout.covered) return undefined;
  return tooLargeSentence("The module's memory begins with", bytes, layout.covered);
}

function isMemoryVisible(module: WasmModule, memory: number): boolean {
  return (
    memory < module.importedMemoryCount ||
    module.exports.some(({ kind, index }) => kind === "memory" && index === memory)
  );
}

interface PlannedFrames {
  plan: FramePlan;
  calls: CallSites;
  shapes: FrameShapes;
  sites: FramedSites;
}

/**
 * Plans contexts for the functions with recorded events: loads and stores and, in precise mode, ends of blocks and
 * frames, which any function may have.
 */
function contextPlan(
  { module, scan, allocator }: ToolSurroundings,
  sites: SiteTable,
  isPrecise: boolean,
): FramePlan {
  const unfollowed = new Set(allocator.internals);
  const targets = zeroingFunctions(allocator.functions);
  module.bodies.forEach((_, defined) => {
    const index = defined + module.importedFunctionCount;
    const hasSites = sites.firstOfFunction[defined] < sites.firstOfFunction[defined + 1];
    if ((hasSites || isPrecise) && !unfollowed.has(index)) targets.push(index);
  });
  return new FramePlan(module, scan, allocator, targets);
}

function framesOf({ module }: ToolSurroundings, plan: FramePlan, sites: SiteTable): PlannedFrames {
  const framed = framedSites(sites);
  const calls = findCallSites(module);
  return { plan, calls, sites: framed, shapes: frameShapes(module, calls, plan, framed.recordBytes) };
}

interface ZeroingSites {
  first: number;
  /** Values that hooks pass for them, in order. */
  ids: readonly number[];
  /** Word with the key of the current call, if it is known. */
  zeroedSite: number;
  records: FramedRecords;
  allocated: number;
}

/**
 * Returns a function that replaces `allocated`. If the caller that asked for zeros is unknown, it uses the key of the
 * zeroing function's own site, in the context of its call.
 */
export function inFrameOfZeroing(
  { module, allocator, appended, shadowMemory }: ToolSurroundings,
  frames: Frames,
  sites: FramedSites,
  { first, ids, zeroedSite, records, allocated }: ZeroingSites,
): number {
  if (ids.length === 0) return allocated;
  const zeroing = zeroingFunctions(allocator.functions);
  return appended.add(appended.typeIndex([I32, I32, I32], []), () => {
    const [address, size, zeroedBy, frame, key] = [0, 1, 2, 3, 4];
    const body = new BodyBuilder([I32, I32]);
    const sink = new BodySink(body);
    body.op("local.get", zeroedBy).op("local.set", key);
    ids.forEach((id, i) => {
      body.op("local.get", zeroedBy).i32(id).op("i32.eq").open("if");
      body
        .i32(0)
        .op("i32.load", 2 | 0x40, shadowMemory, zeroedSite)
        .op("i32.eqz")
        .open("if");
      frames.snippets.pushNew(sink, requestOf(frames.shapes, zeroing[i] - module.importedFunctionCount));
      body.op("local.set", frame);
      records.frame = frame;
      records.pushId(sink, FRAME_HEADER_BYTES + sites.store[first + i]);
      body.op("local.set", key).end().end();
    });
    body.op("local.get", address).op("local.get", size).op("local.get", key);
    return body.op("call", allocated).finish();
  });
}
