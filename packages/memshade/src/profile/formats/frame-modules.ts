import type { ProfileModule } from "../model/heap-profile.ts";
import type { IndexIntoModuleTable } from "../model/indices.ts";

/** Module table of a profile that knows only the names of modules. Each module occurs once. */
export class FrameModules {
  readonly all: ProfileModule[] = [];
  readonly #known = new Map<string, IndexIntoModuleTable>();

  of(name: string, path?: string, buildId = ""): IndexIntoModuleTable {
    const key = path ?? name;
    let index = this.#known.get(key);
    if (index === undefined) {
      index = this.all.length as IndexIntoModuleTable;
      this.all.push({
        name: name.slice(name.lastIndexOf("/") + 1) || name,
        path,
        buildId,
        start: 0n,
        end: 0n,
      });
      this.#known.set(key, index);
    }
    return index;
  }
}
