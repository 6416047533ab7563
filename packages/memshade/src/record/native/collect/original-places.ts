import { readFileSync } from "node:fs";
import { loadObject } from "../../../names/load/objects.ts";
import type { CpuSamples } from "../../../profile/model/cpu.ts";
import { Control, NODE_BYTES, Node } from "../../tools/heap/layout.ts";
import { Place } from "../layout.ts";
import { Origins } from "../rewrite/origins.ts";
import type { RewrittenFile } from "../rewritten/rewrite-files.ts";
import type { ProcessModule } from "./modules.ts";

interface NewCode {
  /** Sites of new code: `[start, end)`. */
  start: number;
  end: number;
  /** Site minus address in the object. */
  distance: number;
  origins: Origins;
}

/**
 * Where code of rewritten files came from. A process knows places of it as sites beyond those that the original has; what is made of a
 * run names those of the original, as if nothing had been rewritten.
 */
export class OriginalPlaces {
  /** The modules as their originals are. */
  readonly modules: readonly ProcessModule[];
  readonly #newCode: NewCode[] = [];
  readonly #known = new Map<number, number>();

  /** @param modules of a process @param files those that stood in the place of others */
  constructor(modules: readonly ProcessModule[], files: readonly RewrittenFile[]) {
    const byMark = new Map(files.map((file) => [file.mark, file]));
    this.modules = modules.map((module) => {
      const file = module.mark === 0 ? undefined : byMark.get(module.mark);
      return file === undefined ? module : this.#takeOne(module, file);
    });
  }

  #takeOne(module: ProcessModule, file: RewrittenFile): ProcessModule {
    const origins = new Origins(readFileSync(file.origins));
    const distance = module.start - module.address;
    const start = origins.start + distance;
    this.#newCode.push({ start, end: module.end, distance, origins });
    const { segments } = loadObject(file.original).object;
    const end = segments.reduce((most, one) => Math.max(most, one.address + one.memorySize), 0);
    return { ...module, end: Math.min(module.end, end + distance) };
  }

  /** The site of the original that a site is; what is no new code stays as it is. */
  of(site: number): number {
    const around = this.#newCode.find(({ start, end }) => site >= start && site < end);
    if (around === undefined) return site;
    let original = this.#known.get(site);
    if (original === undefined) {
      original = around.origins.of(site - around.distance) + around.distance;
      this.#known.set(site, original);
    }
    return original;
  }

  /** Changes the sites of the calling context tree in what a process has left. */
  translate(memory: SharedArrayBuffer): void {
    if (this.#newCode.length === 0) return;
    const view = new DataView(memory);
    const count = view.getUint32(Place.control + Control.nodeNext, true);
    for (let node = 0; node <= count; node++) {
      const at = Place.nodes + NODE_BYTES * node + Node.site;
      view.setUint32(at, this.of(view.getUint32(at, true)), true);
    }
  }

  /** Samples with sites of originals. */
  ofSamples(samples: CpuSamples): CpuSamples {
    const { caller, site } = samples.stacks;
    return { ...samples, stacks: { caller, site: site.map((one) => this.of(one)) } };
  }
}
