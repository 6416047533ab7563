import type { InstrumentedInfo } from "../options.ts";
import type { WasteLayout } from "./memory-plan.ts";

/** Part of a module's description: addresses of the tool's tables, and facts about the code for the reader. */
export interface WasteDescription extends WasteLayout {
  engine: "brief" | "full";
  contexts: boolean;
  objects: boolean;
  compat: string;
  /** True if the program may request more memory than the tool covers. */
  limited: boolean;
  /** Largest size that the memory could have without the tool, pages. */
  mostPages: number;
  exportsMemory: boolean;
  /** True if the host may read memory without reporting it. */
  opaque: boolean;
  /** Sites as written by `encodeSites`, in base 64. The sets below are in base 64 too, a bit per site. */
  siteTable: string;
  /** Sites with inline code; and those of them that begin a basic block, whose runs are counted there. */
  inline: string;
  leaders: string;
  /** Sites that access their function's own frame. */
  frames: string;
  updates?: string;
  /**
   * Accesses to the same address in all trips of a loop, as written by `RepeatedAccesses`, in base 64. Absent with
   * contexts.
   */
  repeated?: string;
  loops: number;
  loopsEnd: number;
  /** Calls with slots as written by `encodeSlots`, in base 64. Absent without frames of contexts. */
  slots?: string;
}

/** Returns the tool's part of a module's description; undefined if the module was instrumented without the tool. */
export function wasteDescription(info: InstrumentedInfo): WasteDescription | undefined {
  return info.toolLayouts?.waste as unknown as WasteDescription | undefined;
}
