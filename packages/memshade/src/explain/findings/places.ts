import type { FrameTable, HeapProfile } from "../../profile/model/heap-profile.ts";
import {
  type IndexIntoContextTable,
  type IndexIntoFrameTable,
  type IndexIntoStackTable,
  type IndexIntoStringTable,
  NONE,
  type None,
} from "../../profile/model/indices.ts";
import type { RunHostFrame } from "../../profile/model/run.ts";
import { framesInsideSite, siteFrameOfContext, siteStackOfContext } from "../../profile/model/site-frame.ts";
import { framesOfStack } from "../../profile/model/stacks.ts";
import { MODULE_SPAN, type WasteFrame, type WasteIp } from "../../profile/model/waste.ts";
import { ambiguousFunctions } from "../analyses/ambiguous-functions.ts";
import { bareName } from "../analyses/frames/function-names.ts";
import { isLibraryCaller, libraryOf, START_UP } from "../analyses/frames/libraries.ts";
import { fromOwn } from "../analyses/frames/own-place.ts";
import type { FindingPlace, PlaceFrame } from "./finding-kind.ts";

interface JudgedPlaceFrame extends PlaceFrame {
  readonly library: string | undefined;
}

/**
 * Returns the location of a context's site; undefined if no code of the program with a name or a line is on
 * its path.
 */
export function heapPlace(profile: HeapProfile, context: IndexIntoContextTable): FindingPlace | undefined {
  const stack = siteStackOfContext(profile, context);
  if (stack === NONE) return undefined;
  const inside = framesInsideSite(profile, context).at(-1);
  return placeOf(
    framesOfStack(profile, stack).map((frame) => heapFrame(profile, frame)),
    inside === undefined ? undefined : heapFrame(profile, inside),
  );
}

/** Returns the location of a caller of a context's site; the site is the function that it called. */
export function callerPlace(
  profile: HeapProfile,
  context: IndexIntoContextTable,
  caller: IndexIntoStackTable,
): FindingPlace | undefined {
  const site = siteStackOfContext(profile, context);
  const frames = framesOfStack(profile, caller).map((frame) => heapFrame(profile, frame));
  return placeOf(frames, site === NONE ? undefined : heapFrame(profile, profile.stacks.frame[site]!));
}

/** Returns the location of a call path of the waste tool. */
export function wastePlace(ips: readonly WasteIp[]): FindingPlace | undefined {
  const frames = ips.flatMap((ip) => [
    { ...frameOfWaste(ip), module: ip.module, address: ip.address },
    ...(ip.inlined ?? []).map(frameOfWaste),
  ]);
  const { stack, via } = fromOwn<JudgedPlaceFrame>(frames);
  return placeOf(stack, via);
}

function placeOf(
  path: readonly JudgedPlaceFrame[],
  via: JudgedPlaceFrame | undefined,
): FindingPlace | undefined {
  const [own] = path;
  if (own === undefined) return undefined;
  if (isLibraryCaller(own.library) && own.library !== START_UP) return undefined;
  if (own.function === undefined && own.file === undefined) return undefined;
  return { path: path.map(withoutLibrary), ...(via === undefined ? {} : { via: withoutLibrary(via) }) };
}

function withoutLibrary({ library: _, ...frame }: JudgedPlaceFrame): PlaceFrame {
  return frame;
}

function frameOfWaste({ function: name, file, line, library, approximate }: WasteFrame): JudgedPlaceFrame {
  // The engine's name for a function without a name.
  const isNamed = name !== undefined && !/^func\[\d+\]$/.test(name);
  return {
    function: isNamed ? name : undefined,
    file,
    line,
    ...(approximate ? { approximate } : {}),
    library,
  };
}

/** Describes a frame of a heap profile, with its library. */
export function heapFrame(profile: HeapProfile, frame: IndexIntoFrameTable): JudgedPlaceFrame {
  const { frames, functions, modules } = profile;
  const row = frames.function[frame]!;
  const name = textOf(profile, functions.name[row]!);
  const module = functions.module[row]!;
  const isTelling = modules.length < 2 || (name !== undefined && !ambiguousFunctions(profile).has(name));
  return {
    function: name,
    module: isTelling || module === NONE ? undefined : modules[module]!.name,
    ...placeInSource(profile, frames, frame),
    ...(frames.approximate?.[frame] === 1 ? { approximate: true } : {}),
    address: module === NONE ? undefined : module * MODULE_SPAN + frames.offset[frame]!,
    library: frames.library?.[frame],
  };
}

function placeInSource(
  profile: HeapProfile,
  { file, line, column }: FrameTable,
  frame: IndexIntoFrameTable,
): Pick<PlaceFrame, "file" | "line" | "column"> {
  return {
    file: textOf(profile, file[frame]!),
    line: line[frame] === 0 ? undefined : line[frame],
    ...(column[frame] === 0 ? {} : { column: column[frame] }),
  };
}

function textOf({ strings }: HeapProfile, index: IndexIntoStringTable | None): string | undefined {
  return index === NONE ? undefined : strings[index];
}

/**
 * Returns the program's own frame and its callers. Some asynchronous calls of a package leave no frame of the
 * program on the engine's stacks; then the package's frame is used.
 */
export function hostPlace(frames: readonly RunHostFrame[]): FindingPlace | undefined {
  const { stack, via } = fromOwn(
    frames.map((frame) => {
      const shown = shownFrame(frame);
      const host = frame.is ?? (frame.glue === undefined ? "script" : (`glue: ${frame.glue}` as const));
      return { shown, library: libraryOf({ function: shown.function, file: shown.file, host }) };
    }),
  );
  const [own] = stack;
  if (own?.shown.file === undefined) return undefined;
  return { path: stack.map(({ shown }) => shown), ...(via === undefined ? {} : { via: via.shown }) };
}

/** Returns a frame in terms of the original source. */
function shownFrame(frame: RunHostFrame): PlaceFrame {
  const { file, line, column } = frame.source ?? frame;
  return { function: frame.source?.name ?? frame.name, file, line, column };
}

/** Returns a key for the line of a location, or for its function if no line is known. */
export function placeKey({ path }: FindingPlace): string {
  const { function: name = "", module = "", file, line = 0, address = 0 } = path[0]!;
  return JSON.stringify(
    line === 0 ? [bareName(name), module, name === "" ? address : 0] : [plainPath(file ?? ""), line],
  );
}

/** Resolves `..` in a path: `lib/compress/../common/mem.h` is one file, whichever folder names it. */
function plainPath(path: string): string {
  const parts: string[] = [];
  for (const part of path.split("/"))
    if (part === ".." && parts.length > 0 && parts.at(-1) !== "..") parts.pop();
    else if (part !== ".") parts.push(part);
  return parts.join("/");
}

/**
 * True if no allocating location of a run has a name or a line. Findings need one, so their absence carries
 * no information.
 */
export function isNameless(profile: HeapProfile): boolean {
  const { length, site } = profile.contexts;
  // Profiles without this data have no findings for other reasons.
  if (site === undefined) return false;
  for (let context = 0; context < length; context++) {
    const frame = siteFrameOfContext(profile, context as IndexIntoContextTable);
    if (frame === undefined) continue;
    const { function: name, file } = heapFrame(profile, frame);
    if (name !== undefined || file !== undefined) return false;
  }
  return length > 0;
}
