import type {
  Symbolizer as FrameSource,
  ProfileModule,
  ResolvedFrame,
} from "../../profile/model/heap-profile.ts";
import type { IndexIntoModuleTable } from "../../profile/model/indices.ts";
import type { RunPlace } from "../../profile/model/run.ts";
import type { Demangle } from "./demangle.ts";
import type { Frame } from "./frame.ts";

/** Symbols of a module by code offset; frames are innermost first. */
export interface ModuleSymbols {
  frames(offset: number): readonly Frame[];
  /** Returns the start of a function without a name, in objects of native programs; undefined if unknown. */
  functionStart?(offset: number): number | undefined;
}

/**
 * Adds files, lines and inlined functions to the frames of `functions`, which has the functions of a run.
 *
 * @param symbolsOf returns the debug information of a module, if any; called once per module
 */
export function withLines(
  functions: FrameSource,
  modules: readonly ProfileModule[],
  symbolsOf: (module: IndexIntoModuleTable) => ModuleSymbols | undefined,
): FrameSource {
  const symbolsByModule = new Map<IndexIntoModuleTable, ModuleSymbols | undefined>();
  return (pc) => {
    const [frame, ...outerFrames] = functions(pc);
    if (frame?.module === undefined || outerFrames.length > 0)
      return frame === undefined ? [] : [frame, ...outerFrames];
    const { module } = frame;
    // The host called the function itself, so the frame has no position inside of it.
    const { allocator } = modules[module]!;
    if (allocator?.functions.some(({ index }) => index === frame.wasmIndex)) return [frame];
    if (!symbolsByModule.has(module)) symbolsByModule.set(module, symbolsOf(module));
    const symbols = symbolsByModule.get(module);
    const found = symbols?.frames(frame.offset) ?? [];
    const frames = found.map((entry, depth) => placed(frame, entry, depth + 1 < found.length));
    const outermost = frames.at(-1) ?? frame;
    if (outermost.name !== undefined || outermost.wasmIndex !== undefined)
      return frames.length === 0 ? [frame] : frames;
    const start = symbols?.functionStart?.(frame.offset);
    return [...frames.slice(0, -1), start === undefined ? outermost : { ...outermost, wasmIndex: start }];
  };
}

function placed(
  frame: ResolvedFrame,
  { file, line, column, startLine, function: name, handsOutMemory, approximate }: Frame,
  isInlined: boolean,
): ResolvedFrame {
  const place = {
    ...(file === undefined || line === 0
      ? {}
      : { file, line, ...(column === 0 ? {} : { column }), ...(startLine === 0 ? {} : { startLine }) }),
    ...(handsOutMemory ? { handsOutMemory } : {}),
    ...(approximate ? { approximate } : {}),
  };
  if (isInlined)
    return { module: frame.module, offset: frame.offset, ...place, name: name ?? "(inlined)", inlined: true };
  return { ...frame, ...(frame.name === undefined && name !== undefined ? { name } : {}), ...place };
}

/** Frames that a run recorded for places in a module, for readers without the original module. */
export function recordedPlaces(
  places: readonly RunPlace[] | undefined,
  demangle: Demangle,
): ModuleSymbols | undefined {
  if (places === undefined || places.length === 0) return undefined;
  const byOffset = new Map(places.map(({ offset, frames }) => [offset, frames]));
  return {
    frames: (offset) => {
      const frames = byOffset.get(offset) ?? [];
      return frames.map(
        (
          { function: name, file, line = 0, column = 0, startLine = 0, handsOutMemory, approximate },
          depth,
        ) => ({
          linkageName: name,
          function: name === undefined ? undefined : demangle(name),
          file,
          line,
          column,
          startLine,
          discriminator: 0,
          inlined: depth + 1 < frames.length,
          ...(handsOutMemory ? { handsOutMemory } : {}),
          ...(approximate ? { approximate } : {}),
        }),
      );
    },
  };
}
