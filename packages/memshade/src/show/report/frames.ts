import { ambiguousFunctions } from "../../explain/analyses/ambiguous-functions.ts";
import { frameName } from "../../explain/analyses/frames/frame-name.ts";
import type { HeapProfile } from "../../profile/model/heap-profile.ts";
import { type IndexIntoFrameTable, NONE } from "../../profile/model/indices.ts";

/** A frame as shown in reports. */
export interface FrameDescription {
  /** Demangled name; without a name, `func[12]` or module and offset (`[libstdc++.so.6]+0xa57b9`). */
  function: string;
  /** Function index in the original module; null if unknown. */
  index: number | null;
  /**
   * Byte offset of the call in the original module's code section. Native programs: offset of a location without a name
   * in its module, else 0.
   */
  offset: number;
  /** Name of the module; absent for code outside all modules. */
  module?: string;
  /** Source position, if known; lines and columns count from 1. */
  file?: string;
  line?: number;
  column?: number;
  /**
   * True if the line is that of the nearest earlier instruction in the function, because this one has none.
   */
  approximate?: true;
  /** True if the function was inlined into that of the next outer frame. */
  inlined?: true;
  /** True if the host called this allocation function directly: the offset is that of the function. */
  calledByHost?: true;
  /**
   * Name of the library or runtime that the function belongs to ([own code](concepts.md#own-code)); absent for the
   * program's own code, and with `--all-frames`.
   */
  library?: string;
  /** Language of host code that called a module; the offset is then a number of the call. */
  language?: "JavaScript";
}

export function describeFrame(profile: HeapProfile, frame: IndexIntoFrameTable): FrameDescription {
  const { frames, functions, strings, modules } = profile;
  const row = frames.function[frame]!;
  const module = functions.module[row]!;
  const index = functions.wasmIndex[row]!;
  const offset = frames.offset[frame]!;
  const description: FrameDescription = {
    function: frameName(profile, frame),
    index: index === NONE || (module !== NONE && modules[module]!.objectAddress !== undefined) ? null : index,
    offset,
  };
  if (module !== NONE) description.module = modules[module]!.name;
  if (frames.file[frame] !== NONE) description.file = strings[frames.file[frame]!]!;
  if (frames.line[frame] !== 0) description.line = frames.line[frame]!;
  if (frames.column[frame] !== 0) description.column = frames.column[frame]!;
  if (frames.approximate?.[frame] === 1) description.approximate = true;
  if (frames.inlined[frame] === 1) description.inlined = true;
  if (frames.fromHost[frame] === 1) description.calledByHost = true;
  if (frames.host?.[frame] !== undefined) description.language = "JavaScript";
  const library = frames.library?.[frame];
  if (library !== undefined) description.library = library;
  return description;
}

/** Formats ` of draw.wasm` if the function's name alone is ambiguous. */
export function ofModule(profile: HeapProfile, { function: name, index, module }: FrameDescription): string {
  if (module === undefined || profile.modules.length < 2) return "";
  const isTelling = name !== `func[${index}]` && !ambiguousFunctions(profile).has(name);
  return isTelling ? "" : ` of ${module}`;
}
