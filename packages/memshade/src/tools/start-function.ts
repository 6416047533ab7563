import type { AppendedFunctions } from "../rewrite/write/appended-functions.ts";
import { BodyBuilder } from "../rewrite/write/body-builder.ts";
import type { WasmModule } from "../wasm/index.ts";
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
