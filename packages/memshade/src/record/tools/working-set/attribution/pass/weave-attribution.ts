import {
  encodeConstantExpression,
  I32,
  type ValType,
  type WasmModule,
} from "../../../../../code/wasm/index.ts";
import { base64Of, bytesOfBase64 } from "../../../../../ground/bytes/base64.ts";
import type { AllocationListeners } from "../../../../allocator/allocation-listeners.ts";
import { allFrameBytes, type Frames } from "../../../../contexts/frames/call-frames.ts";
import { findCallSites } from "../../../../contexts/frames/call-sites.ts";
import { FramePlan } from "../../../../contexts/frames/frame-plan.ts";
import { frameShapes } from "../../../../contexts/frames/frame-shapes.ts";
import { entryStack, FrameSnippets, type FrameTargets } from "../../../../contexts/frames/frame-snippets.ts";
import { encodeSlots } from "../../../../contexts/frames/slot-table.ts";
import { FunctionFact, type ModuleScan } from "../../../../rewrite/facts/module-scan.ts";
import { mergeRuntime, type RuntimeFunctions } from "../../../../rewrite/link/shadow-runtime.ts";
import type { ToolPass } from "../../../../rewrite/tool.ts";
import { BodyBuilder } from "../../../../rewrite/write/body-builder.ts";
import type { ToolSurroundings, WovenTool } from "../../../tool.ts";
import { describeLayout } from "../../described-layout.ts";
import type { WorkingSetLayout } from "../../memory-plan.ts";
import { PollPlan } from "../../pass/poll-plan.ts";
import { ATTRIBUTION_RUNTIME_BASE64 } from "../attribution.generated.ts";
import { attributionConstants, keyWord, PREFIX, planAttribution } from "../memory-plan.ts";
import { AttributionPass } from "./attribution-pass.ts";

export interface WovenAttribution {
  endBytes: number;
  globals: readonly { type: ValType; initial: Uint8Array }[];
  pass: ToolPass;
  followedCalls: WovenTool["followedCalls"];
  allocations: AllocationListeners | undefined;
  /** Functions that take part in snapshots and in bulk instructions, by name. */
  functions: RuntimeFunctions;
  /** For the host that reads the tables: the layout's fields, prefixed. */
  description: Readonly<Record<string, number | string | boolean>>;
  notTracked: string[];
}

/** Before the layout of frames is known. */
interface PlannedFrames extends Omit<Frames, "snippets"> {}

/**
 * Adds to the working-set tool what tells whose the lines are, where it is asked for. Its tables come behind `from`, its
 * globals begin with `firstGlobal`. `constants`: the working set's own.
 */
export function weaveAttribution(
  around: ToolSurroundings,
  workingSet: WorkingSetLayout,
  from: number,
  firstGlobal: number,
  constants: Record<string, number | Uint8Array>,
): WovenAttribution | undefined {
  const wanted = around.options.workingset?.attribution ?? {};
  const { memory64, module, appended, allocator } = around;
  const notTracked: string[] = [];
  const firstTouch = wanted.firstTouch === true;
  let fill = wanted.fill === true;
  let owners = wanted.owners === true;
  if (memory64 && (fill || owners)) {
    notTracked.push("The module's memory is 64-bit: bytes of lines, and whose they are, are not followed.");
    fill = false;
    owners = false;
  }
  if (!firstTouch && !fill && !owners) return undefined;
  const planned = firstTouch || owners ? planFrames(around, firstTouch, owners) : undefined;
  const layout = planAttribution({
    firstTouch,
    fill,
    owners,
    from,
    memoryBytes: around.memoryBytes,
    lines: workingSet.lines,
    snapshots: workingSet.recordCapacity,
    functions: module.bodies.length,
    frameBytes: planned === undefined ? 0 : allFrameBytes(planned.shapes),
    slots: planned === undefined ? "" : base64Of(encodeSlots(planned)),
    wrappers: allocator.wrappers.join(),
  });
  const slotGlobal = firstGlobal;
  const runtime = mergeRuntime(bytesOfBase64(ATTRIBUTION_RUNTIME_BASE64), {
    appended,
    shadowMemory: around.shadowMemory,
    firstGlobal: firstGlobal + 1,
    constants: { ...constants, ...attributionConstants(layout) },
    hosts: {
      slot: appended.add(appended.typeIndex([], [I32]), () =>
        new BodyBuilder().op("global.get", slotGlobal).finish(),
      ),
    },
  });
  const target = (name: string): number => runtime.functions.get(name) as number;
  const frameTargets: FrameTargets = {
    memory: around.shadowMemory,
    slotGlobal,
    enterFrame: planned === undefined ? -1 : target("enterFrame"),
    hostWord: layout.hostWord,
    rootSlot: layout.rootSlot,
  };
  const frames =
    planned === undefined ? undefined : { ...planned, snippets: new FrameSnippets(frameTargets) };
  if (owners && allocator.functions.length === 0)
    notTracked.push("No allocator was found: lines of the heap have no allocation sites.");
  return {
    endBytes: layout.endBytes,
    globals: [{ type: I32, initial: encodeConstantExpression(I32, layout.rootSlot | 0) }, ...runtime.globals],
    pass: new AttributionPass({
      memory64,
      memory: around.shadowMemory,
      lines: workingSet.lines,
      covered: layout.covered,
      isLimited: layout.isLimited,
      firstTouch,
      bytesToo: fill || owners,
      touchers: layout.touchers,
      bytes: layout.bytes,
      keyWord: keyWord(layout),
      touched: firstTouch ? target("touched") : -1,
      accessed: () => target("accessed"),
      polls: new PollPlan(module, around.scan),
      freesBlocks: owners,
      assumeAligned: workingSet.assumeAligned,
      frames,
      hostIsReferenced: planned !== undefined && hostIsReferenced(module, planned.plan),
    }),
    followedCalls:
      planned === undefined
        ? undefined
        : { shadowMemory: around.shadowMemory, ...entryStack(frameTargets), entries: planned.plan.entries },
    allocations:
      owners && allocator.functions.length > 0
        ? {
            requested: target("requested"),
            allocated: target("allocated"),
            reallocated: target("reallocated"),
            released: target("released"),
            zeroedBy: () => 1,
          }
        : undefined,
    functions: runtime.functions,
    description: describeLayout(PREFIX, layout),
    notTracked,
  };
}

/**
 * Frames of everything that touches memory, or only of what allocates. Contexts go on inside of the allocator, whose own
 * code touches memory as any other.
 */
function planFrames(around: ToolSurroundings, firstTouch: boolean, owners: boolean): PlannedFrames {
  const { module, scan, allocator } = around;
  const calls = findCallSites(module);
  const targets = owners ? allocator.functions.map(({ index }) => index) : [];
  if (firstTouch) targets.push(...touchingFunctions(module, scan, calls.callee, calls.firstOfFunction));
  const plan = new FramePlan(module, scan, { ...allocator, functions: [], internals: [] }, targets);
  const places = module.bodies.map(({ codeStart, end }) => (firstTouch ? end - codeStart : 0));
  return { plan, calls, shapes: frameShapes(module, calls, plan, places) };
}

/** Functions that access memory, or ask the host for something. */
function touchingFunctions(
  module: WasmModule,
  scan: ModuleScan,
  callee: readonly number[],
  firstOfFunction: Int32Array,
): number[] {
  const imported = module.importedFunctionCount;
  const touching: number[] = [];
  for (let defined = 0; defined < module.bodies.length; defined++) {
    const called = callee.slice(firstOfFunction[defined], firstOfFunction[defined + 1]);
    const touches = (scan.facts[defined] & FunctionFact.HasAccess) !== 0;
    if (touches || called.some((index) => index >= 0 && index < imported)) touching.push(imported + defined);
  }
  return touching;
}

function hostIsReferenced(module: WasmModule, { entries }: FramePlan): boolean {
  for (let index = 0; index < module.importedFunctionCount; index++)
    if (entries.isReferenced(index)) return true;
  return false;
}
