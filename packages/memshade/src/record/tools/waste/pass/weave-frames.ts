import { I32 } from "../../../../code/wasm/index.ts";
import { type Frames, requestOf } from "../../../contexts/frames/call-frames.ts";
import { type CallSites, findCallSites } from "../../../contexts/frames/call-sites.ts";
import { FramePlan } from "../../../contexts/frames/frame-plan.ts";
import { type FrameShapes, frameShapes } from "../../../contexts/frames/frame-shapes.ts";
import { FRAME_HEADER_BYTES } from "../../../contexts/layout.ts";
import { BodyBuilder } from "../../../rewrite/write/body-builder.ts";
import type { ToolSurroundings } from "../../tool.ts";
import { type FramedSites, framedSites } from "../framed-sites.ts";
import type { SiteTable } from "../site-table.ts";
import { BodySink } from "./body-sink.ts";
import type { FramedRecords } from "./sites/site-records.ts";
import { zeroingFunctions } from "./sites/zeroing-functions.ts";

/** What is known of frames before the layout is. */
export interface PlannedFrames {
  plan: FramePlan;
  calls: CallSites;
  shapes: FrameShapes;
  sites: FramedSites;
}

/**
 * How calls change the contexts of what happens in a module: its loads and stores, and, in precise mode, what becomes of
 * blocks and frames, which may be any function's.
 */
export function contextPlan(
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

export function framesOf({ module }: ToolSurroundings, plan: FramePlan, sites: SiteTable): PlannedFrames {
  const framed = framedSites(sites);
  const calls = findCallSites(module);
  return { plan, calls, sites: framed, shapes: frameShapes(module, calls, plan, framed.recordBytes) };
}

/** What a zeroing function's site is known by. */
interface ZeroingSites {
  /** First of them. */
  first: number;
  /** What hooks say of them, in their order. */
  ids: readonly number[];
  /** Word with the key of the call at hand, where it is known. */
  zeroedSite: number;
  records: FramedRecords;
  allocated: number;
}

/**
 * The function that takes the place of `allocated`: for zeros that nobody knows the caller of, it gets the key of the zeroing
 * function's own site, in the context it was called in.
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
