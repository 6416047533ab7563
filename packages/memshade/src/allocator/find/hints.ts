import { functionType, importsOf, type WasmModule } from "../../wasm/index.ts";

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
