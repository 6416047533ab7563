import type { RunEnd } from "../../../model/run.ts";
import type { InstanceHandle } from "../../heap/read/heap-session.ts";
import type { InstrumentedInfo } from "../../options.ts";
import type { RunFacts, ToolSession, ToolSnapshot } from "../../session.ts";
import { wasteDescription } from "../description.ts";
import { type WasteContents, WasteReader } from "./read-waste.ts";
import { siteRunsOf } from "./site-runs.ts";
import { type ModuleContents, wasteFile } from "./waste-file.ts";
import { wasteText } from "./waste-text.ts";

/** Name of the file in a run folder. */
export const WASTE_FILE = "waste.json";

interface Instance {
  module: number;
  reader: WasteReader;
  exitVisible: boolean;
}

/** Everything the waste tool recorded in one run. */
export class WasteSession implements ToolSession {
  readonly tool = "waste";
  readonly #instances = new Map<number, Instance>();
  readonly #finished: { module: number; contents: WasteContents }[] = [];
  readonly #modules = new Map<number, { info: InstrumentedInfo; original: () => Uint8Array }>();

  addInstance(
    handle: InstanceHandle,
    memory: WebAssembly.Memory,
    info: InstrumentedInfo,
    original: Uint8Array | (() => Uint8Array),
    tables: readonly WebAssembly.Memory[] = [],
  ): void {
    const bytes = typeof original === "function" ? original : () => original;
    this.#modules.set(handle.module, { info, original: bytes });
    this.#instances.set(handle.number, {
      module: handle.module,
      reader: new WasteReader(memory, info, tables),
      exitVisible: isVisibleAtExit(info),
    });
  }

  releaseInstance(handle: InstanceHandle): void {
    const instance = this.#instances.get(handle.number);
    if (instance === undefined) return;
    this.#finished.push({ module: instance.module, contents: instance.reader.read(instance.exitVisible) });
    this.#instances.delete(handle.number);
  }

  reset(): void {
    this.#finished.length = 0;
    for (const { reader } of this.#instances.values()) reader.reset();
  }

  snapshot(_end: RunEnd, facts: RunFacts): ToolSnapshot {
    const contents = [
      ...this.#finished,
      ...[...this.#instances.values()].map(({ module, reader, exitVisible }) => ({
        module,
        contents: reader.read(exitVisible),
      })),
    ];
    const modules: ModuleContents[] = [...this.#modules].map(([index, { info, original }]) => ({
      index,
      info,
      original: original(),
      contents: contents.filter(({ module }) => module === index).map((of) => of.contents),
    }));
    const description = modules[0] && wasteDescription(modules[0].info);
    const options = {
      engine: description?.engine ?? ("brief" as const),
      contexts: description?.contexts === true,
      objects: description?.objects === true,
      compat: description?.compat ?? "",
    };
    // Modules that the tool could not be woven into say why.
    const reasons = facts.modules
      .filter(({ index }) => !this.#modules.has(index))
      .flatMap(({ notTracked }) => notTracked.filter((sentence) => sentence.includes("waste tool")));
    const file = wasteFile(facts.command, options, modules, facts.linesOf, facts.typesOf);
    file.notTracked.push(...new Set(reasons));
    return {
      description: options,
      file: { name: WASTE_FILE, contents: wasteText(file) },
      notTracked: file.notTracked,
      siteRuns: modules.map((of) => ({ original: of.original, runs: siteRunsOf(of.contents) })),
    };
  }
}

/** The host reads what a library leaves in memory, and nobody what a command leaves. */
function isVisibleAtExit(info: InstrumentedInfo): boolean {
  const description = wasteDescription(info);
  return description?.exportsMemory === true && description.opaque;
}
