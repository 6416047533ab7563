import { type Bound, FIGURES, unseenBounds } from "../../../../profile/model/bound.ts";
import { namedModuleOf } from "../../../../profile/model/named-module.ts";
import type { RunEnd } from "../../../../profile/model/run.ts";
import type { WasteFile } from "../../../../profile/model/waste/waste.ts";
import type { InstrumentedInfo } from "../../options.ts";
import type { InstanceHandle, RunFacts, ToolSession, ToolSnapshot } from "../../session.ts";
import { wasteDescription } from "../description.ts";
import { type WasteContents, WasteReader } from "./read-waste.ts";
import { siteRunsOf } from "./site-runs.ts";
import { boundsOfWaste, type ModuleContents, refusedGrowth, wasteFile } from "./waste-file.ts";

/** Characters that a string may have in engines of today, with something to spare. */
const LONGEST_STRING = 2 ** 29 - 2 ** 16;

/** The JSON of `waste.json`, one record per line; as bytes where it is too long for a string. */
export function wasteText(file: WasteFile, longestString: number = LONGEST_STRING): string | Uint8Array {
  const pieces: string[] = [];
  let length = 0;
  const write = (piece: string): void => {
    pieces.push(piece);
    length += piece.length;
  };
  let before = "{\n";
  for (const [name, value] of Object.entries(file)) {
    if (value === undefined) continue;
    write(`${before}"${name}": `);
    before = ",\n";
    if (!Array.isArray(value)) {
      write(JSON.stringify(value));
      continue;
    }
    let start = "[\n";
    for (const record of value) {
      write(start + JSON.stringify(record));
      start = ",\n";
    }
    write(value.length === 0 ? "[]" : "\n]");
  }
  write("\n}\n");
  return length <= longestString ? pieces.join("") : bytesOf(pieces);
}

function bytesOf(pieces: readonly string[]): Uint8Array {
  const encoder = new TextEncoder();
  const encoded = pieces.map((piece) => encoder.encode(piece));
  const bytes = new Uint8Array(encoded.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of encoded) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

/** Name of the file in a run folder. */
export const WASTE_FILE = "waste.json";

interface Instance {
  module: number;
  /** Undefined once the instance is gone. */
  reader: WasteReader | undefined;
  exitVisible: boolean;
  /** What it left. */
  contents: WasteContents | undefined;
}

/** Everything the waste tool recorded in one run. */
export class WasteSession implements ToolSession {
  readonly tool = "waste";
  /** In the order in which they came, gone ones too: when one goes is the garbage collector's choice, and must not show. */
  readonly #instances = new Map<number, Instance>();
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
      contents: undefined,
    });
  }

  releaseInstance(handle: InstanceHandle): void {
    const instance = this.#instances.get(handle.number);
    if (instance?.reader === undefined) return;
    instance.contents = instance.reader.read(instance.exitVisible);
    instance.reader = undefined;
  }

  reset(): void {
    for (const [number, { reader }] of this.#instances)
      if (reader === undefined) this.#instances.delete(number);
      else reader.reset();
  }

  snapshot(end: RunEnd, facts: RunFacts): ToolSnapshot {
    const contents = [...this.#instances.values()].flatMap(({ module, reader, exitVisible, contents }) => {
      const left = contents ?? reader?.read(exitVisible);
      return left === undefined ? [] : { module, contents: left };
    });
    const modules: ModuleContents[] = [...this.#modules].map(([index, { info, original }]) => ({
      index,
      info: { ...info, name: facts.modules[index]?.name ?? info.name },
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
    const isAlone = facts.modules.length === 1;
    const named = (name: string, sentence: string) => (isAlone ? sentence : `${name}: ${sentence}`);
    // Modules that the tool could not be woven into say why.
    const left = facts.modules.flatMap(({ index, name, notRecorded }) =>
      notRecorded?.waste === undefined ? [] : { module: index, name, reason: notRecorded.waste },
    );
    const notRecorded = left.filter(({ module }) => !this.#modules.has(module));
    const partly = left
      .filter(({ module }) => this.#modules.has(module))
      .map(({ name, reason }) => named(name, `Not every instance is recorded. ${reason}`));
    const refused = modules.flatMap(({ info, contents }) => {
      const sentence = refusedGrowth(contents);
      return sentence === undefined ? [] : { name: info.name, sentence };
    });
    const file = wasteFile(facts.command, options, modules, facts.linesOf, facts.typesOf);
    file.modules = file.modules?.map((module) => namedModuleOf(facts.modules[module.index] ?? module));
    if (notRecorded.length > 0) file.notRecorded = notRecorded;
    const reasons = notRecorded.map(({ name, reason }) => named(name, reason));
    file.notTracked.push(...reasons, ...partly);
    if (end.kind === "trap" && options.engine === "brief") file.notTracked.push(TRAPPED);
    return {
      description: options,
      file: { name: WASTE_FILE, contents: wasteText(file) },
      bounds: [
        ...boundsOfWaste(contents.map((of) => of.contents)),
        ...left.flatMap(({ name }) =>
          unseenBounds(`the waste tool does not follow ${name}, or a part of it`, ["written", "dead"]),
        ),
        ...refused.map(
          ({ name }): Bound => ({
            figures: FIGURES,
            are: "either",
            because: `${name} did not get memory because of the tool`,
          }),
        ),
      ],
      shadowBytes: contents.reduce((sum, { contents: of }) => sum + of.shadowBytes, 0),
      notTracked: file.notTracked,
      keptBack: file.notTracked.filter((said) => refused.some(({ sentence }) => said.endsWith(sentence))),
      warnings: [
        ...left.map(({ name, reason }) => `${name}: ${reason}`),
        ...refused.map(({ name, sentence }) => `${name}: ${sentence}`),
      ],
      siteRuns: modules.map((of) => ({ original: of.original, runs: siteRunsOf(of.contents) })),
    };
  }
}

const TRAPPED =
  "The program trapped: accesses behind the trap in its basic block count once, though they did not happen. With --pairs they do not.";

/** The host reads what a library leaves in memory, and nobody what a command leaves. */
function isVisibleAtExit(info: InstrumentedInfo): boolean {
  const description = wasteDescription(info);
  return description?.exportsMemory === true && description.opaque;
}
