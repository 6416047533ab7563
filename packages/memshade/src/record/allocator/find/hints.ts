import { functionType, importsOf, type WasmModule } from "../../../code/wasm/index.ts";
import { type CallGraph, callersOf, Trait } from "./call-graph.ts";

/* Sentences about allocators that are not hooked: none, or one each. */

const IMPORTED_ALLOCATOR = /^_?(?:malloc|calloc|realloc|free|_Zn[wa][mj]|_Zd[la]Pv)$/;

/** Side modules take their memory from the main module. */
export function sentencesAboutImports(module: WasmModule): string[] {
  const imported = importsOf(module, "function")
    .map(({ field }) => field)
    .filter((field) => IMPORTED_ALLOCATOR.test(field));
  if (imported.length === 0) return [];
  const verb = imported.length > 1 ? "are" : "is";
  return [
    `${imported.join(", ")} ${verb} imported: those blocks are recorded by the module that defines it.`,
  ];
}

/** Language runtimes that cut their own blocks out of large ones from malloc. */
export function sentencesAboutPools(names: ReadonlyMap<number, string>): string[] {
  for (const name of names.values()) {
    if (name !== "_PyObject_Malloc") continue;
    return [
      "Small objects of CPython live in arenas that it cuts up itself; they are tracked as arenas, not one by one.",
    ];
  }
  return [];
}

/** AssemblyScript without names and runtime exports shows by its one import: abort(message, file, line, column). */
export function sentencesAboutNamelessAssemblyScript(module: WasmModule): string[] {
  const abort = importsOf(module, "function").findIndex(
    ({ module: from, field }) => from === "env" && field === "abort",
  );
  if (abort < 0) return [];
  const { params, results } = functionType(module, abort);
  if (params.length !== 4 || results.length !== 0) return [];
  return ["It looks like AssemblyScript; built with --debug or --exportRuntime its blocks can be tracked."];
}

/** So many functions are named that may allocate. */
const MOST_SHOWN = 3;

/**
 * Functions that take and return one number and make the memory larger, themselves or by what they call, and that several others call: an
 * allocation function is among those that most call.
 */
export function sentencesAboutGrowing(
  module: WasmModule,
  graph: CallGraph,
  show: (index: number) => string,
): string[] {
  const growing = new Set<number>();
  for (let index = graph.imported; index < graph.count; index++)
    if ((graph.traits[index] & Trait.Grows) !== 0) growing.add(index);
  for (const index of growing) for (const caller of callersOf(graph, index)) growing.add(caller);
  const callersBut = (index: number): number =>
    callersOf(graph, index).filter((caller) => caller !== index).length;
  const candidates = [...growing]
    .filter((index) => {
      const { params, results } = functionType(module, index);
      return params.length === 1 && results.length === 1 && callersBut(index) > 1;
    })
    .sort((a, b) => callersBut(b) - callersBut(a) || a - b)
    .slice(0, MOST_SHOWN);
  if (candidates.length === 0) return [];
  return [
    `An allocation function makes the memory larger; of those that take and return one number, most call ${candidates.map(show).join(", then ")}.`,
  ];
}
