import type { HeapProfile } from "../../model/heap-profile.ts";
import type { IndexIntoContextTable } from "../../model/indices.ts";
import { framesInsideSite, siteStackOfContext } from "../../model/site-frame.ts";
import { framesOfStack } from "../../model/stacks.ts";
import { MODULE_SPAN, type WasteFile, type WasteIp } from "../../model/waste/waste.ts";
import type { StackFrame } from "../../model/working-set/working-set.ts";
import type { Finding, PlaceFrame } from "../findings/finding.ts";
import { heapFrame } from "../findings/place.ts";
import { fromOwn } from "../frames/own-place.ts";

/** A frame with what limits choose it by. */
export interface MeasuredFrame extends PlaceFrame {
  /** What library its code is of, in words. */
  readonly library?: string | undefined;
}

/** Where some of a measure is. */
export interface MeasuredPlace {
  /** The program's own frame, then its callers, outwards; empty for what is no code. */
  readonly path: readonly MeasuredFrame[];
  /** What the own frame called in libraries, innermost first. */
  readonly inside?: readonly MeasuredFrame[] | undefined;
  /** Of a finding. */
  readonly kind?: Finding["kind"] | undefined;
  /** The finding. */
  readonly finding?: Finding | undefined;
}

/** The places of a heap profile, one per context. */
export function heapPlaces(profile: HeapProfile): MeasuredPlace[] {
  const known = new Map<number, MeasuredFrame>();
  const frameOf = (frame: number): MeasuredFrame => {
    let made = known.get(frame);
    if (made === undefined) {
      made = { ...heapFrame(profile, frame as never), module: moduleOf(profile, frame) };
      known.set(frame, made);
    }
    return made;
  };
  return Array.from({ length: profile.contexts.length }, (_, row) => {
    const context = row as IndexIntoContextTable;
    return {
      path: framesOfStack(profile, siteStackOfContext(profile, context)).map(frameOf),
      inside: framesInsideSite(profile, context).map(frameOf),
    };
  });
}

function moduleOf({ frames, functions, modules }: HeapProfile, frame: number): string | undefined {
  return modules[functions.module[frames.function[frame]!]!]?.name;
}

/** The place of a store or a load. */
export function wasteMeasuredPlace({ modules = [] }: WasteFile, ips: readonly WasteIp[]): MeasuredPlace {
  const frames = ips.flatMap((ip): MeasuredFrame[] => {
    const module =
      ip.module ?? modules.find(({ index }) => index === Math.floor(ip.address / MODULE_SPAN))?.name;
    const { function: name, file, line, library, address } = ip;
    return [
      { function: named(name), file, line, library, address, module },
      ...(ip.inlined ?? []).map((frame) => ({ ...frame, function: named(frame.function), address, module })),
    ];
  });
  return splitAtOwn(frames);
}

/** The engine's word for a function without a name is none. */
function named(name: string | undefined): string | undefined {
  return name === undefined || /^func\[\d+\]$/.test(name) ? undefined : name;
}

/** The place of a call stack of the working set. */
export function workingSetPlace(stack: readonly StackFrame[], module: string | undefined): MeasuredPlace {
  return splitAtOwn(
    stack.map(({ name, file, line, offset, library }) => ({
      function: name,
      file,
      line,
      address: offset,
      library,
      module,
    })),
  );
}

/** The place of a finding. */
export function findingPlace(finding: Finding): MeasuredPlace {
  const { path, via } = finding.place;
  return { path, inside: via === undefined ? [] : [via], kind: finding.kind, finding };
}

/** The program's own frame first, and what it called in libraries apart. */
export function splitAtOwn(frames: readonly MeasuredFrame[]): MeasuredPlace {
  const path = fromOwn(frames).stack;
  return { path, inside: frames.slice(0, frames.length - path.length) };
}
