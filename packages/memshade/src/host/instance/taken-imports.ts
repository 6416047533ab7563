import { SHADOW_IMPORT } from "../../tools/host-interface.ts";

/**
 * What a module is to import, as a plain object. Import objects may be proxies or make their values while they are asked
 * for them: each is asked for what the module declares, in its order, once, as the engine would.
 *
 * @param declared the imports that the module declares; the shadow memory among them is left out.
 * @returns undefined for what the engine refuses, to be refused in the engine's own words.
 */
export function takeImports(
  imports: unknown,
  declared: readonly WebAssembly.ModuleImportDescriptor[],
): WebAssembly.Imports | undefined {
  // Without imports a module needs no object.
  const given = imports === undefined ? {} : imports;
  if (!isObject(given)) return undefined;
  const taken: Record<string, Record<string, WebAssembly.ImportValue>> = Object.create(null);
  for (const { module, name } of declared) {
    if (module === SHADOW_IMPORT.module && name === SHADOW_IMPORT.field) continue;
    const from = given[module];
    if (!isObject(from)) return undefined;
    taken[module] ??= Object.create(null) as Record<string, WebAssembly.ImportValue>;
    taken[module][name] = from[name] as WebAssembly.ImportValue;
  }
  return taken;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}
