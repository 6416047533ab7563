import { globalType, I32, I64 } from "../../../../code/wasm/index.ts";
import { BodyBuilder } from "../../../rewrite/write/body-builder.ts";
import type { ToolSurroundings } from "../../tool.ts";

// Small functions that the tool adds to a module beside its runtime.

/**
 * The function that takes the place of setting the stack pointer; −1: there is none. `target`: a function of the runtime by its
 * name.
 */
export function onStackMoved(
  { module, appended, stackPointer }: ToolSurroundings,
  target: (name: string) => number,
): number {
  if (stackPointer < 0) return -1;
  const { type } = globalType(module, stackPointer);
  const moved = type === I32 ? target("moved") : -1;
  if (moved >= 0) return moved;
  const stackMoved = target("stackMoved");
  return appended.add(appended.typeIndex([type], []), () => {
    const body = new BodyBuilder().op("global.get", stackPointer);
    if (type === I64) body.op("i32.wrap_i64");
    body.op("local.get", 0);
    if (type === I64) body.op("i32.wrap_i64");
    body.op("call", stackMoved);
    return body.op("local.get", 0).op("global.set", stackPointer).finish();
  });
}

/** A function of the runtime that takes a number of pages, or −1, and returns one, as a function on the memory's own type. */
export function onPages({ appended, memory64 }: ToolSurroundings, target: number): number {
  if (!memory64) return target;
  return appended.add(appended.typeIndex([I64], [I64]), () => {
    const body = new BodyBuilder().op("local.get", 0).op("i32.wrap_i64").op("call", target);
    // Numbers of pages that do not fit 32 bits are refused as they are.
    body.op("i64.extend_i32_s").op("local.get", 0);
    body.op("local.get", 0).i64(32).op("i64.shr_s").op("i64.eqz").op("select");
    return body.finish();
  });
}

/** The function that runs first. It tells the runtime of the data segments by `segment`, unless that is −1. */
export function starter(
  { module, appended, memory, memory64 }: ToolSurroundings,
  segment: number,
  notePages: number,
): number {
  return appended.add(appended.typeIndex([], []), () => {
    const body = new BodyBuilder().op("call", notePages);
    for (const data of module.data)
      if (segment >= 0 && data.offset !== undefined && data.memory === memory) {
        const { start, end } = data.offset;
        body.range(module.bytes, start, end - 1);
        if (memory64) body.op("i32.wrap_i64");
        body.i32(data.end - data.start).op("call", segment);
      }
    return body.finish();
  });
}
