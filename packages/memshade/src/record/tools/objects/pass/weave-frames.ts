import {
  encodeConstantExpression,
  I32,
  IMMEDIATE_KIND,
  opcodeIdAt,
  skipImmediates,
  skipOpcode,
  type WasmModule,
} from "../../../../code/wasm/index.ts";
import { base64Of, bytesOfBase64 } from "../../../../ground/bytes/base64.ts";
import { allFrameBytes, type Frames } from "../../../contexts/frames/call-frames.ts";
import { findCallSites } from "../../../contexts/frames/call-sites.ts";
import { FrameWord, frameConstants } from "../../../contexts/frames/frame-memory.ts";
import { FramePlan } from "../../../contexts/frames/frame-plan.ts";
import { frameShapes } from "../../../contexts/frames/frame-shapes.ts";
import { entryStack, FrameSnippets, type FrameTargets } from "../../../contexts/frames/frame-snippets.ts";
import { encodeSlots } from "../../../contexts/frames/slot-table.ts";
import { FRAMES_RUNTIME_BASE64 } from "../../../contexts/frames.generated.ts";
import { mergeRuntime } from "../../../rewrite/link/shadow-runtime.ts";
import type { ToolSurroundings, WovenTool } from "../../tool.ts";
import { allocates, hasLength } from "../instructions.ts";
import { COUNTER_BYTES, Control } from "../layout.ts";
import type { ObjectsPlan, ObjectTablesLayout } from "../memory-plan.ts";

/** What is known of frames before the layout is. */
export type PlannedFrames = Omit<Frames, "snippets">;

export interface WovenFrames {
  readonly frames: Frames;
  readonly globals: NonNullable<WovenTool["globals"]>;
  readonly followedCalls: NonNullable<WovenTool["followedCalls"]>;
  /** The calls that have a slot in their functions' frames, as `encodeSlots` has written them. */
  readonly slots: string;
}

/** Frames of the functions that make objects, with room for the counters of these. */
export function planFrames({ module, scan, allocator }: ToolSurroundings): PlannedFrames {
  const calls = findCallSites(module);
  const counters = mostCounters(module);
  const targets = [...counters.keys()].filter((defined) => counters[defined] > 0);
  const plan = new FramePlan(
    module,
    scan,
    { ...allocator, functions: [], internals: [] },
    targets.map((defined) => defined + module.importedFunctionCount),
  );
  const bytes = counters.map((count) => count * COUNTER_BYTES);
  return { plan, calls, shapes: frameShapes(module, calls, plan, bytes) };
}

export function frameSizes({ shapes }: PlannedFrames): ObjectsPlan["frames"] {
  return { functions: shapes.recordBytes.length, frameBytes: allFrameBytes(shapes) };
}

/** Puts the code of frames into the module. The tool's globals from `firstGlobal` on are theirs. */
export function weaveFrames(
  { appended, shadowMemory }: ToolSurroundings,
  planned: PlannedFrames,
  layout: ObjectTablesLayout,
  firstGlobal: number,
): WovenFrames {
  const words = Control.frames;
  const constants = frameConstants(layout, {
    frameNext: words + FrameWord.frameNext,
    nodeNext: words + FrameWord.nodeNext,
  });
  const runtime = mergeRuntime(bytesOfBase64(FRAMES_RUNTIME_BASE64), {
    appended,
    shadowMemory,
    constants,
    firstGlobal: firstGlobal + 1,
    hosts: {},
  });
  const targets: FrameTargets = {
    memory: shadowMemory,
    slotGlobal: firstGlobal,
    enterFrame: runtime.functions.get("enterFrame") as number,
    hostWord: words + FrameWord.hostWord,
    rootSlot: words + FrameWord.rootSlot,
  };
  return {
    frames: { ...planned, snippets: new FrameSnippets(targets) },
    globals: [{ type: I32, initial: encodeConstantExpression(I32, targets.rootSlot) }, ...runtime.globals],
    followedCalls: { shadowMemory, ...entryStack(targets), entries: planned.plan.entries },
    slots: base64Of(encodeSlots(planned)),
  };
}

/** The most counters of allocations that each function of the module can have: one per instruction, and one per length. */
function mostCounters({ bodies, bytes }: WasmModule): number[] {
  return bodies.map(({ codeStart, end }) => {
    let counters = 0;
    for (let at = codeStart; at < end; ) {
      const op = opcodeIdAt(bytes, at);
      if (allocates(op)) counters += hasLength(op) ? 2 : 1;
      at = skipImmediates(bytes, skipOpcode(bytes, at), IMMEDIATE_KIND[op]);
    }
    return counters;
  });
}
