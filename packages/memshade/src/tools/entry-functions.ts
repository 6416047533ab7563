import type { AppendedFunctions } from "../rewrite/write/appended-functions.ts";
import { BodyBuilder } from "../rewrite/write/body-builder.ts";
import { functionType, functionTypeIndex, type WasmModule } from "../wasm/index.ts";
import type { WovenTool } from "./tool.ts";

/** What runs first: the tools' own functions, then the module's. −1: the module's stays as it is. */
export function startFunction(
  module: WasmModule,
  appended: AppendedFunctions,
  tools: readonly WovenTool[],
): number {
  const own = tools.map(({ start = -1 }) => start).filter((start) => start >= 0);
  if (own.length === 0) return -1;
  return appended.add(appended.typeIndex([], []), () => {
    const body = new BodyBuilder();
    for (const start of own) body.op("call", start);
    if (module.start !== undefined) body.op("call", module.start);
    return body.finish();
  });
}

/**
 * Functions to export in the place of others: those that tell the tools that the host comes in and goes. `before`: those
 * that there are already.
 */
export function wrapExports(
  module: WasmModule,
  appended: AppendedFunctions,
  tools: readonly WovenTool[],
  before: ReadonlyMap<number, number>,
): ReadonlyMap<number, number> {
  const enteredBy = (index: number): number[] =>
    tools.flatMap(({ entered = -1, isQuiet }) => (entered < 0 || isQuiet?.(index) === true ? [] : entered));
  const left = tools.map((tool) => tool.left ?? -1).filter((index) => index >= 0);
  const instead = new Map(before);
  for (const { kind, index } of module.exports) {
    if (kind !== "function") continue;
    const target = before.get(index) ?? index;
    if ((instead.get(index) ?? target) !== target) continue;
    const entered = enteredBy(index);
    if (entered.length + left.length === 0) continue;
    const type = functionType(module, index);
    const wrapper = appended.add(functionTypeIndex(module, index), () => {
      const body = new BodyBuilder();
      for (const listener of entered) body.op("call", listener);
      type.params.forEach((_, i) => {
        body.op("local.get", i);
      });
      const carried = tools.find((tool) => tool.carried?.types.has(target))?.carried;
      if (carried !== undefined) body.op("global.get", carried.global);
      body.op("call", target);
      if (carried !== undefined) body.op("global.set", carried.global);
      for (const listener of left) body.op("call", listener);
      return body.finish();
    });
    instead.set(index, wrapper);
  }
  return instead;
}
