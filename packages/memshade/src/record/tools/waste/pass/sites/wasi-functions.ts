import { functionType, importsOf, type WasmModule } from "../../../../../code/wasm/index.ts";
import { touchesNoMemory } from "./host-functions.ts";

/** A literal of nothing but names, as Emscripten writes down what a module imports: `{a:___cxa_throw,b:invoke_vii}`. */
const NAMES = /\{\s*(?:["']?[\w$]+["']?\s*:\s*[\w$]+\s*,\s*)*["']?[\w$]+["']?\s*:\s*[\w$]+\s*,?\s*\}/g;
const ENTRY = /["']?([\w$]+)["']?\s*:\s*([\w$]+)/g;
/** Longest name that is taken for a minified one. */
const MINIFIED = 3;

/**
 * Names of a module's imported functions as its toolchain has them, by index: where they were minified, the JavaScript glue still
 * tells which is which, if its own names were not minified too.
 */
export function namesOfImports(module: WasmModule, glue = ""): string[] {
  const imports = importsOf(module, "function");
  const minified = imports.filter(({ field }) => field.length <= MINIFIED).map(({ field }) => field);
  if (minified.length === 0 || minified.length < imports.length / 2) return imports.map(({ field }) => field);
  for (const [literal] of glue.matchAll(NAMES)) {
    const names = new Map([...literal.matchAll(ENTRY)].map(([, key, name]) => [key, name]));
    if (minified.every((field) => names.has(field)))
      return imports.map(({ field }) => (names.get(field) ?? field).replace(/^_/, ""));
  }
  return imports.map(({ field }) => field);
}

/** The functions of WASI preview 1: what they read and write is known. */
const WASI_FUNCTIONS: ReadonlySet<string> = new Set(
  [
    "args_get args_sizes_get environ_get environ_sizes_get clock_res_get clock_time_get poll_oneoff random_get",
    "fd_advise fd_allocate fd_close fd_datasync fd_fdstat_get fd_fdstat_set_flags fd_fdstat_set_rights fd_filestat_get",
    "fd_filestat_set_size fd_filestat_set_times fd_pread fd_prestat_dir_name fd_prestat_get fd_pwrite fd_read fd_readdir",
    "fd_renumber fd_seek fd_sync fd_tell fd_write path_create_directory path_filestat_get path_filestat_set_times",
    "path_link path_open path_readlink path_remove_directory path_rename path_symlink path_unlink_file",
    "proc_exit proc_raise sched_yield sock_accept sock_recv sock_send sock_shutdown",
  ].flatMap((line) => line.split(" ")),
);

/** Indices of the imported functions of which it is known what they read and write: they say it, or it is nothing. */
export function exactImports(module: WasmModule, glue: string | undefined): Set<number> {
  const names = namesOfImports(module, glue);
  const exact = new Set<number>();
  importsOf(module, "function").forEach((from, index) => {
    if (isExactImport(from) || touchesNoMemory(names[index], functionType(module, index))) exact.add(index);
  });
  return exact;
}

/**
 * Whether a program is one that WASI starts and that imports nothing else: its host says exactly what it reads and writes.
 * `exact`: its `exactImports`.
 */
export function isCommand(module: WasmModule, exact: ReadonlySet<number>): boolean {
  const starts = module.exports.some(({ kind, name }) => kind === "function" && name === "_start");
  return starts && exact.size === module.importedFunctionCount;
}

/** Whether the host says of an imported function exactly what it reads and writes. */
function isExactImport({ module, field }: { module: string; field: string }): boolean {
  return (module === "wasi_snapshot_preview1" || module === "wasi_unstable") && WASI_FUNCTIONS.has(field);
}
