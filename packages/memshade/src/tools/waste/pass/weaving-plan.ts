import { allFrameBytes } from "../../../contexts/frames/call-frames.ts";
import type { FramePlan } from "../../../contexts/frames/frame-plan.ts";
import { type MemoryType, memoryType, type WasmModule } from "../../../wasm/index.ts";
import type { ToolSurroundings } from "../../tool.ts";
import { tooLargeSentence } from "../memory-limit.ts";
import { isPreciseMode, planWaste, type WasteLayout, type WasteWishes } from "../memory-plan.ts";
import type { SiteTable } from "../site-table.ts";
import { findSites } from "./sites/find-sites.ts";
import { exactImports, isCommand } from "./sites/wasi-functions.ts";
import { zeroingFunctions } from "./sites/zeroing-functions.ts";
import { contextPlan, framesOf, type PlannedFrames } from "./weave-frames.ts";

/** What is known of the tool in one module before anything is added to the module. */
export interface WeavingPlan {
  around: ToolSurroundings;
  /** Writers, readers and values are kept per byte, instead of one id. */
  isPrecise: boolean;
  /** The tool counts as the Valgrind tool deadstores does. */
  isCompatible: boolean;
  sites: SiteTable;
  /** Functions that hand out zeroed blocks, by index. */
  zeroing: readonly number[];
  /** How calls change the context; undefined where contexts are not told apart. */
  contexts: FramePlan | undefined;
  /** The frames of contexts; undefined without contexts, and in precise mode, which keeps nodes instead. */
  framed: PlannedFrames | undefined;
  /** Whether the host can look at the memory. */
  isVisible: boolean;
  /** Imported functions of which it is known what they read and write, by index. */
  exact: ReadonlySet<number>;
  wishes: WasteWishes;
  layout: WasteLayout;
}

/** Looks at a module, and places the tool's tables. */
export function planWeaving(around: ToolSurroundings): WeavingPlan {
  const { module, memory, memoryBytes, allocator } = around;
  const { waste = {} } = around.options;
  const { contexts, objects, compat, mostIds } = waste;
  const isPrecise = isPreciseMode(waste);
  const zeroing = zeroingFunctions(allocator.functions);
  const sites = findSites(module, zeroing);
  const plan = contexts === true ? contextPlan(around, sites, isPrecise) : undefined;
  const framed = plan === undefined || isPrecise ? undefined : framesOf(around, plan, sites);
  const isVisible = isMemoryVisible(module, memory);
  const exact = exactImports(module, around.options.glue);
  // In precise mode contexts are paths too.
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
    ownStack: keepsPaths && around.stack === undefined,
    frames: framed && { functions: module.bodies.length, bytes: allFrameBytes(framed.shapes) },
    mostIds,
  };
  return {
    around,
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

/** What engines give a memory at most, by the type of its addresses, where it is not declared smaller: 4 GiB, 16 GiB. */
function mostPages({ maximum = Number.POSITIVE_INFINITY, index64 }: MemoryType): number {
  return Math.min(maximum, index64 ? 2 ** 18 : 2 ** 16);
}

/** Why the tool can follow nothing of a module, as a sentence; undefined: it can. */
export function refusal({ around, layout }: WeavingPlan): string | undefined {
  const { minimum, pageSizeLog2 } = memoryType(around.module, around.memory);
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
