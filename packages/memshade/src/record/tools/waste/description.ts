import type { InstrumentedInfo } from "../options.ts";
import type { WasteLayout } from "./memory-plan.ts";

/** What a module's description says of the tool: where its tables lie, and what the reader must know of the code. */
export interface WasteDescription extends WasteLayout {
  engine: "brief" | "full";
  contexts: boolean;
  objects: boolean;
  compat: string;
  /** The program's memory may be asked to grow beyond what is followed. */
  limited: boolean;
  /** How large it could be without the tool, pages. */
  mostPages: number;
  exportsMemory: boolean;
  /** The host may read and says nothing of it. */
  opaque: boolean;
  /** The sites as `encodeSites` has written them, in base 64; so are all sets below, of a bit per site. */
  siteTable: string;
  /** Sites that are followed inline, and those of them that begin a basic block: the block's runs are counted there. */
  inline: string;
  leaders: string;
  /** Sites that access a place in their function's own frame. */
  frames: string;
  /** Sites that store where their basic block has loaded from before. */
  updates?: string;
  /** Accesses that come to one place in all trips of a loop, as `RepeatedAccesses` has written them, in base 64. Absent with contexts. */
  repeated?: string;
  /** The table of loops that are followed as a whole: where it begins and ends. */
  loops: number;
  loopsEnd: number;
  /** Calls with slots as `encodeSlots` has written them, in base 64. Absent without frames of contexts. */
  slots?: string;
}

/** The tool's part of a module's description; undefined where it is not in the module. */
export function wasteDescription(info: InstrumentedInfo): WasteDescription | undefined {
  return info.toolLayouts?.waste as unknown as WasteDescription | undefined;
}
