import { memoryCount, type WasmModule } from "../../../code/wasm/index.ts";
import { FormatError } from "../../../ground/bytes/errors.ts";
import { ByteReader } from "../../../ground/bytes/reader.ts";

/**
 * A garbage collector found in the module. `blocks`: true if the program's objects do not come from malloc at all, so
 * that heap tracking would show only the runtime's own blocks, or none.
 */
export interface CollectorFinding {
  blocks: boolean;
  sentence: string;
}

export const IN_ENGINE_SENTENCES: readonly string[] = [
  "The module has garbage-collected objects and no linear memory: --tool objects records them.",
  "Part of the program's objects are garbage-collected by the engine: --tool objects records them.",
];

const ONLY_OTHERS = "only working set and waste apply";

/** Exports that the JavaScript host of a Go program calls. */
const GO_EXPORTS = ["run", "resume", "getsp"];
const TELLING_EXPORTS = new Set([...GO_EXPORTS, "go_scheduler"]);

/** Recognizes Go, TinyGo, .NET, Boehm's collector, and modules with garbage-collected objects of the engine. */
export function findCollector(
  module: WasmModule,
  names: ReadonlyMap<number, string>,
): CollectorFinding | undefined {
  const producers = readProducers(module);
  const exported = new Set<string>();
  let isMono = false;
  for (const { name } of module.exports)
    if (TELLING_EXPORTS.has(name)) exported.add(name);
    else if (name.startsWith("mono_wasm_")) isMono = true;
  const imported = new Set(module.imports.map(({ module: from }) => from));
  const sections = new Set(module.customs.map(({ name }) => name));

  if (producers.has("TinyGo") || exported.has("go_scheduler"))
    return { blocks: true, sentence: `TinyGo has its own garbage collector: ${ONLY_OTHERS}.` };
  const isGo =
    producers.has("Go") ||
    sections.has("go:buildid") ||
    sections.has("go.buildid") ||
    imported.has("gojs") ||
    GO_EXPORTS.every((name) => exported.has(name));
  if (isGo) return { blocks: true, sentence: `Go has its own garbage collector: ${ONLY_OTHERS}.` };
  const hasMemory = memoryCount(module) > 0;
  const usesObjects = module.types.some(({ kind }) => kind !== "func");
  if (!hasMemory)
    return {
      blocks: true,
      sentence: usesObjects
        ? IN_ENGINE_SENTENCES[0]
        : "The module has no linear memory: there is nothing to record.",
    };
  if (isMono || imported.has("dotnet"))
    return {
      blocks: false,
      sentence:
        "Objects of .NET are garbage-collected: only the native allocations of the runtime are recorded.",
    };
  for (const name of names.values())
    if (name === "GC_malloc" || name === "GC_malloc_kind")
      return {
        blocks: false,
        sentence: "Blocks of the Boehm collector (GC_malloc) are not recorded, only those of malloc.",
      };
  if (usesObjects)
    return {
      blocks: false,
      sentence: IN_ENGINE_SENTENCES[1],
    };
  return undefined;
}

function readProducers(module: WasmModule): Set<string> {
  const producers = new Set<string>();
  const section = module.customs.find(({ name }) => name === "producers");
  if (section?.contentStart === undefined) return producers;
  const reader = new ByteReader(module.bytes, section.contentStart, section.payloadEnd);
  try {
    for (let fields = reader.u32Leb(); fields > 0; fields--) {
      reader.name("producers field");
      for (let values = reader.u32Leb(); values > 0; values--) {
        producers.add(reader.name("producer"));
        reader.name("producer version");
      }
    }
  } catch (error) {
    // A broken custom section is no reason to stop: the entries before the error count.
    if (!(error instanceof FormatError)) throw error;
  }
  return producers;
}
