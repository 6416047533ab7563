import type { ProfileModule } from "../model/heap-profile.ts";
import type { IndexIntoModuleTable } from "../model/indices.ts";

/** Module table of a profile that knows only the names of modules. Each module occurs once. */
export class FrameModules {
  readonly list: ProfileModule[] = [];
  readonly #indices = new Map<string, IndexIntoModuleTable>();

  indexOf(name: string, path?: string, buildId = ""): IndexIntoModuleTable {
    const key = path ?? name;
    let index = this.#indices.get(key);
    if (index === undefined) {
      index = this.list.length as IndexIntoModuleTable;
      this.list.push({
        name: name.slice(name.lastIndexOf("/") + 1) || name,
        path,
        buildId,
        start: 0n,
        end: 0n,
      });
      this.#indices.set(key, index);
    }
    return index;
  }
}
