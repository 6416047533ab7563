import { type RunModule, TRAMPOLINE_BYTES } from "../../profile/model/run.ts";
import { distinctNames, tellingExports } from "./module-names.ts";
import type { InstrumentedInfo } from "./options.ts";
import type { InstanceHandle, RecordedModule, SharedPlace } from "./session.ts";

/** Distance between the segments of two modules in the address space of a run. */
export const MODULE_SPAN = 2n ** 32n;

/** The modules of a run, and the numbers of their instances. */
export class RecordedModules {
  readonly all: RecordedModule[] = [];
  /** Tables that live instances share, by the instance's number. */
  readonly #groups = new Map<number, string>();
  /** Number of instances added so far, including released ones. */
  instanceCount = 0;

  /** Adds an instance, and its module if it is the first one. */
  add(
    info: InstrumentedInfo,
    original: Uint8Array | (() => Uint8Array),
    path: string | null,
    place?: SharedPlace,
    thread = 0,
  ): InstanceHandle {
    const number = this.instanceCount++;
    const module = this.#moduleOf(info, original, path);
    this.all[module].instances++;
    if (place !== undefined) this.#groups.set(number, place.group);
    return { number, module, thread, place };
  }

  release({ number }: InstanceHandle): void {
    this.#groups.delete(number);
  }

  /** True while a live instance has the tables of this name. */
  isShared(group: string): boolean {
    return [...this.#groups.values()].includes(group);
  }

  /** Total size of the rewritten modules, bytes. */
  get rewrittenBytes(): number {
    return this.all.reduce((sum, { info }) => sum + (info.rewrittenBytes ?? info.originalBytes), 0);
  }

  /** Returns the modules as in `run.json`, without the results of tools. */
  describe(): RunModule[] {
    const names = distinctNames(this.all.map(({ info }) => info));
    return this.all.map((module, index) => describeModule(module, index, names));
  }

  #moduleOf(info: InstrumentedInfo, original: Uint8Array | (() => Uint8Array), path: string | null): number {
    const known = this.all.findIndex((m) => m.info.buildId === info.buildId && m.info.name === info.name);
    if (known < 0) {
      const bytes = typeof original === "function" ? original : () => original;
      return this.all.push({ info, original: bytes, path, instances: 0 }) - 1;
    }
    // If one instance of the module could not be followed, the module reports that.
    const module = this.all[known];
    if (info.notRecorded !== undefined)
      module.info = { ...module.info, notRecorded: { ...info.notRecorded, ...module.info.notRecorded } };
    return known;
  }
}

function describeModule(
  { info, original, path, instances }: RecordedModule,
  index: number,
  names: readonly string[],
): RunModule {
  const { how, functions, refused, doubtful, further, layers } = info.allocator;
  // Glue code makes modules for single functions. Beside a followed module they are not worth a report.
  const isNegligible = info.codeBytes <= TRAMPOLINE_BYTES && how === "none" && names.length > 1;
  return {
    index,
    name: names[index],
    path,
    ...(path === null && info.script !== undefined ? { script: info.script } : {}),
    buildId: info.buildId,
    bytes: info.originalBytes,
    codeBytes: info.codeBytes,
    instances,
    ...(path === null ? { exports: tellingExports(original()) } : {}),
    start: `0x${(BigInt(index) * MODULE_SPAN).toString(16)}`,
    allocator: {
      how: how as RunModule["allocator"]["how"],
      confirmed: null,
      functions,
      ...(refused === undefined || isNegligible ? {} : { refused }),
      ...(doubtful === true ? { doubtful } : {}),
      ...(further === undefined ? {} : { further }),
      ...(layers === undefined ? {} : { layers }),
    },
    functions: [],
    ...(info.notRecorded === undefined || isNegligible ? {} : { notRecorded: info.notRecorded }),
    notTracked: isNegligible ? [] : info.notTracked,
  };
}
