import { followedMemory } from "../../tools/followed-memory.ts";
import { SHADOW_IMPORT, SHADOW_MEMORY } from "../../tools/host-interface.ts";
import type { InstrumentedInfo, ShadowLayout } from "../../tools/index.ts";
import { shadowOf } from "./shared-shadows.ts";

type Imports = Readonly<Record<string, unknown>>;

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
    let shadow: Shadow | undefined;
    for (const { module, name } of declared)
      shadow ??= this.#shadows.get(imports[module]?.[name] as WebAssembly.Memory);
    const isSame = shadow !== undefined && JSON.stringify(shadow.layout) === JSON.stringify(layout);
    const { module, field } = SHADOW_IMPORT;
    return {
      ...imports,
      [module]: { ...imports[module], [field]: isSame ? shadow!.memory : shadowOf(layout) },
    };
  }
}
