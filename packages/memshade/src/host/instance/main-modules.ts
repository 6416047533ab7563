import { followedMemory } from "../../tools/followed-memory.ts";
import { SHADOW_IMPORT } from "../../tools/host-interface.ts";
import type { InstrumentedInfo, ShadowLayout } from "../../tools/index.ts";
import { SHADOW_MEMORY } from "./host-calls.ts";
import { shadowOf } from "./shared-shadows.ts";

type Imports = Record<string, Record<string, WebAssembly.ImportValue> | undefined>;

interface Shadow {
  memory: WebAssembly.Memory;
  layout: ShadowLayout;
}

/** The shadow memories of the modules that dynamic libraries are loaded into, by the memories that these use. */
export class MainModules {
  readonly #shadows = new WeakMap<WebAssembly.Memory, Shadow>();

  /** An instance came into being. `all` and `visible`: its exports with and without those of instrumentation. */
  add(
    info: InstrumentedInfo,
    imports: unknown,
    all: WebAssembly.Exports,
    visible: WebAssembly.Exports,
  ): void {
    const memory = all[SHADOW_MEMORY] as WebAssembly.Memory | undefined;
    if (memory === undefined || info.layout === undefined || info.sharedMemory) return;
    const program = followedMemory(info, imports as Imports, visible);
    if (program !== undefined) this.#shadows.set(program, { memory, layout: info.layout });
  }

  /**
   * The imports of a library that was rewritten for tables of this layout, with the shadow memory of the module whose
   * memory it imports; with one that nobody reads if that module has other tables.
   */
  withShadow(
    imports: WebAssembly.Imports,
    declared: readonly WebAssembly.ModuleImportDescriptor[],
    layout: ShadowLayout,
  ): WebAssembly.Imports {
    const given: Imports = Object.create(null);
    let shadow: Shadow | undefined;
    // Loaders make imports while they are asked for them: each is taken once, by its name.
    for (const { module, name } of declared.slice(0, -1)) {
      const from = imports[module];
      // The engine refuses it, in its own words.
      if (from === null || (typeof from !== "object" && typeof from !== "function")) return imports;
      given[module] ??= Object.create(null) as Record<string, WebAssembly.ImportValue>;
      const value = from[name];
      given[module][name] = value;
      shadow ??= this.#shadows.get(value as WebAssembly.Memory);
    }
    const isSame = shadow !== undefined && JSON.stringify(shadow.layout) === JSON.stringify(layout);
    const { module, field } = SHADOW_IMPORT;
    given[module] = { ...given[module], [field]: isSame ? shadow!.memory : shadowOf(layout) };
    return given as WebAssembly.Imports;
  }
}
