import {
  F32,
  F64,
  type FuncType,
  functionType,
  I32,
  I64,
  importsOf,
  type ValType,
  type WasmModule,
} from "../../../../code/wasm/index.ts";
import * as Op from "../../../../code/wasm/op.generated.ts";
import { ZEROES } from "../../../allocator/allocation-hooks.ts";
import { BodyBuilder } from "../../../rewrite/write/body-builder.ts";
import type { SnippetSink } from "../../../rewrite/write/snippet-sink.ts";
import { Load, STORE_IDS_BYTES, Store } from "../layout.ts";
import { SITE_COUNTERS_BYTES, SITE_EVENTS, type WasteLayout } from "../memory-plan.ts";

/**
 * Access to sites from inline code: by keys, and by the addresses of their records. The meaning of a key depends on
 * whether contexts are recorded.
 */
export interface SiteRecords {
  /** Pushes the key of a store. */
  pushId(sink: SnippetSink, key: number): void;
  /** Pushes the site operand of calls of the runtime: a number, or the address of the record. */
  pushStore(sink: SnippetSink, key: number): void;
  pushLoad(sink: SnippetSink, key: number): void;
  /** Number of i32 operands that identify a site in calls of functions that replace accesses. */
  readonly coldOperands: number;
  pushCold(sink: SnippetSink, key: number): void;
  /**
   * Computes, in such a function, the value that `pushStore` and `pushLoad` would push. Stores it in the first of the
   * parameters.
   */
  setCold(sink: SnippetSink, parameter: number): void;
  /** Pushes the base to which the addresses of counters are relative. */
  pushBase(sink: SnippetSink): void;
  /**
   * Returns the address of a store's count of silent stores, relative to the base. `key` and `site` belong together.
   */
  silentAt(key: number, site: number): number;
  /** Returns the address of a load's count of loads that found unread bytes, relative to the base. */
  freshAt(key: number, site: number): number;
  /** Returns the address of the count of runs of the block that begins with a site, relative to the base. */
  runsAt(key: number, site: number): number;
  /** Pushes the id of a store four times, or zero while it has none. */
  pushIds(sink: SnippetSink, key: number): void;
  /** Pushes the ids of a store like `pushIds`. A local has the value that `pushStore` pushes. */
  pushIdsOf(sink: SnippetSink, local: number): void;
}

/** Records in frames begin at multiples of 8. Dividing by 8 shortens the encoding. */
const RECORD_UNIT_SHIFT = 3;

/** Records without contexts: keys are the numbers of the program's stores and loads. */
export class FixedRecords implements SiteRecords {
  readonly #layout: WasteLayout;
  readonly #memory: number;
  /** Local with the address of the counters of a function's first site, so that the offsets of the others are short. */
  base = 0;
  first = 0;
  /** The same for the id of a function's first store. */
  idsBase = 0;
  firstStore = 0;

  constructor(layout: WasteLayout, memory: number) {
    this.#layout = layout;
    this.#memory = memory;
  }

  pushId(sink: SnippetSink, key: number): void {
    sink.i32(key);
  }

  pushStore(sink: SnippetSink, key: number): void {
    sink.i32(key);
  }

  pushLoad(sink: SnippetSink, key: number): void {
    sink.i32(key);
  }

  readonly coldOperands = 1;

  pushCold(sink: SnippetSink, key: number): void {
    sink.i32(key);
  }

  setCold(): void {}

  /** Called at the beginning of a function. */
  computeBase(sink: SnippetSink): void {
    sink.i32((this.#layout.counters + this.first * SITE_COUNTERS_BYTES) | 0);
    sink.local(Op.LOCAL_SET, this.base);
  }

  pushBase(sink: SnippetSink): void {
    sink.local(Op.LOCAL_GET, this.base);
  }

  silentAt(_key: number, site: number): number {
    return (site - this.first) * SITE_COUNTERS_BYTES + SITE_EVENTS;
  }

  freshAt(key: number, site: number): number {
    return this.silentAt(key, site);
  }

  runsAt(_key: number, site: number): number {
    return (site - this.first) * SITE_COUNTERS_BYTES;
  }

  computeIdsBase(sink: SnippetSink): void {
    sink.i32((this.#layout.storeIds + this.firstStore * STORE_IDS_BYTES) | 0);
    sink.local(Op.LOCAL_SET, this.idsBase);
  }

  pushIds(sink: SnippetSink, key: number): void {
    sink.local(Op.LOCAL_GET, this.idsBase);
    sink.access(Op.I64_LOAD, 3, this.#memory, (key - this.firstStore) * STORE_IDS_BYTES);
  }

  pushIdsOf(sink: SnippetSink, local: number): void {
    sink.local(Op.LOCAL_GET, local);
    sink.i32(Math.log2(STORE_IDS_BYTES));
    sink.plain(Op.I32_SHL);
    sink.access(Op.I64_LOAD, 3, this.#memory, this.#layout.storeIds);
  }
}

/**
 * Records with contexts: a local has the frame of the current function; keys are offsets of records in the frame,
 * bytes.
 */
export class FramedRecords implements SiteRecords {
  readonly #layout: WasteLayout;
  readonly #memory: number;
  frame = 0;

  constructor(layout: WasteLayout, memory: number) {
    this.#layout = layout;
    this.#memory = memory;
  }

  pushStore(sink: SnippetSink, key: number): void {
    sink.local(Op.LOCAL_GET, this.frame);
    sink.i32(key);
    sink.plain(Op.I32_ADD);
  }

  pushLoad(sink: SnippetSink, key: number): void {
    this.pushStore(sink, key);
  }

  /** The frame, and the offset of the record in it. */
  readonly coldOperands = 2;

  pushCold(sink: SnippetSink, key: number): void {
    sink.local(Op.LOCAL_GET, this.frame);
    sink.i32(key >>> RECORD_UNIT_SHIFT);
  }

  setCold(sink: SnippetSink, parameter: number): void {
    sink.local(Op.LOCAL_GET, parameter);
    sink.local(Op.LOCAL_GET, parameter + 1);
    sink.i32(RECORD_UNIT_SHIFT);
    sink.plain(Op.I32_SHL);
    sink.plain(Op.I32_ADD);
    sink.local(Op.LOCAL_SET, parameter);
  }

  pushId(sink: SnippetSink, key: number): void {
    const { recordShift, stores } = this.#layout;
    sink.local(Op.LOCAL_GET, this.frame);
    sink.i32(recordShift);
    sink.plain(Op.I32_SHR_U);
    // A shift would be wrong: addresses take all 32 bits.
    sink.i32((key - stores) / 2 ** recordShift);
    sink.plain(Op.I32_ADD);
  }

  pushBase(sink: SnippetSink): void {
    sink.local(Op.LOCAL_GET, this.frame);
  }

  silentAt(key: number): number {
    return key + Store.silent;
  }

  freshAt(key: number): number {
    return key + Load.fresh;
  }

  runsAt(key: number): number {
    return key;
  }

  pushIds(sink: SnippetSink, key: number): void {
    this.pushBase(sink);
    sink.access(Op.I64_LOAD, 3, this.#memory, key - STORE_IDS_BYTES);
  }

  pushIdsOf(sink: SnippetSink, local: number): void {
    sink.local(Op.LOCAL_GET, local);
    sink.i32(STORE_IDS_BYTES);
    sink.plain(Op.I32_SUB);
    sink.access(Op.I64_LOAD, 3, this.#memory, 0);
  }
}

/**
 * Functions of Emscripten's JavaScript that read and write no memory of the module, so that calling them hands nothing
 * to the host. They may grow the memory, throw, and call the module back; its own accesses are recorded then.
 *
 * Keys are names without the underscore that JavaScript adds. Values are the types of result and parameters in
 * Emscripten's letters, since
 * another host may have a function of that name with other parameters. Source: src/lib/libcore.js and
 * src/lib/libexceptions.js; in versions 2 and 3 src/library.js.
 *
 * Functions that do access memory, by their sources: `__cxa_throw`, `__cxa_begin_catch`, `__cxa_find_matching_catch_*`,
 * `__resumeException` (fields of the exception), `_tzset_js`, `_localtime_js`, `_gmtime_js`, `_mktime_js` (a struct),
 * `__assert_fail`, `__syscall_*` (strings and structs), `emscripten_num_logical_cores` (a word, in some versions),
 * `emscripten_asm_const_*` (any JavaScript).
 */
const EMSCRIPTEN: Readonly<Record<string, string>> = {
  emscripten_get_now: "d",
  emscripten_date_now: "d",
  emscripten_get_now_res: "d",
  _emscripten_get_now_is_monotonic: "i",
  emscripten_get_now_is_monotonic: "i",
  // Sizes of the memory, and its growth.
  emscripten_get_heap_max: "p",
  emscripten_get_heap_size: "p",
  emscripten_resize_heap: "ip",
  emscripten_notify_memory_growth: "vp",
  abort: "v",
  _abort_js: "v",
  _emscripten_throw_longjmp: "v",
  emscripten_throw_longjmp: "v",
  // Accessors of variables of the JavaScript.
  getTempRet0: "i",
  setTempRet0: "vi",
  llvm_eh_typeid_for: "ip",
  __cxa_uncaught_exceptions: "i",
  _emscripten_runtime_keepalive_clear: "v",
  emscripten_runtime_keepalive_push: "v",
  emscripten_runtime_keepalive_pop: "v",
  emscripten_runtime_keepalive_check: "i",
};

/**
 * `invoke_vii` saves the stack pointer, calls the function at a table index, and catches exceptions (`makeInvoke` in
 * src/jsifier, `createInvokeFunction` in src/lib/libdylink.js).
 */
const INVOKE = /^invoke_([vijfdp][ijfdp]*)$/;

/**
 * Intrinsics of wasm-bindgen that take and return handles, booleans and numbers, and run no code of the objects.
 * Signatures: crates/cli-support/src/intrinsic.rs; JavaScript: crates/cli-support/src/js/mod.rs. Not among them, since
 * they access memory or may run methods of objects: `__wbindgen_string_new`, `__wbindgen_number_get`,
 * `__wbindgen_throw`, and the operators.
 */
const BINDGEN: ReadonlySet<string> = new Set(
  [
    "object_clone_ref object_drop_ref cb_drop cb_forget number_new symbol_anonymous_new boolean_get jsval_eq typeof",
    "is_function is_undefined is_null is_object is_symbol is_string is_bigint is_falsy object_is_undefined",
    "object_is_null_or_undefined memory module function_table externref_heap_live_count init_externref_table",
  ].flatMap((line) => line.split(" ").map((name) => `__wbindgen_${name}`)),
);

const LETTERS: Readonly<Record<string, readonly ValType[]>> = {
  v: [],
  i: [I32],
  j: [I64],
  f: [F32],
  d: [F64],
  p: [I32, I64],
};

/** True if an imported function is known to access no memory, by its name in the toolchain. */
export function touchesNoMemory(name: string, type: FuncType): boolean {
  if (BINDGEN.has(name)) return true;
  const invoked = INVOKE.exec(name)?.[1];
  // The parameters are the table index and the parameters of the called function.
  if (invoked !== undefined) return fits(`${invoked[0]}p${invoked.slice(1)}`, type);
  return Object.hasOwn(EMSCRIPTEN, name) && fits(EMSCRIPTEN[name], type);
}

function fits(letters: string, { params, results }: FuncType): boolean {
  const [result, ...operands] = letters;
  const isOf = (letter: string, type: ValType | undefined): boolean =>
    type === undefined ? LETTERS[letter].length === 0 : LETTERS[letter].includes(type);
  return (
    results.length < 2 &&
    isOf(result, results[0]) &&
    params.length === operands.length &&
    params.every((type, i) => isOf(operands[i], type))
  );
}

/**
 * Matches an object literal of names only, as Emscripten writes a module's imports: `{a:___cxa_throw,b:invoke_vii}`.
 */
const NAMES = /\{\s*(?:["']?[\w$]+["']?\s*:\s*[\w$]+\s*,\s*)*["']?[\w$]+["']?\s*:\s*[\w$]+\s*,?\s*\}/g;
const ENTRY = /["']?([\w$]+)["']?\s*:\s*([\w$]+)/g;
/** Longest name that may be a minified one. */
const MINIFIED = 3;

/**
 * Returns the toolchain's names of a module's imported functions, by index. Minified names are resolved with the
 * JavaScript glue, unless its own names were minified too.
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

/** Functions of WASI preview 1, whose reads and writes are known. */
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

/**
 * Returns the indices of imported functions whose reads and writes are known: the host reports them, or there are none.
 */
export function exactImports(module: WasmModule, glue: string | undefined): Set<number> {
  const names = namesOfImports(module, glue);
  const exact = new Set<number>();
  importsOf(module, "function").forEach((from, index) => {
    if (isExactImport(from) || touchesNoMemory(names[index], functionType(module, index))) exact.add(index);
  });
  return exact;
}

/**
 * True if WASI starts the program and it imports nothing else, so that its host reports all reads and writes. `exact`:
 * its `exactImports`.
 */
export function isCommand(module: WasmModule, exact: ReadonlySet<number>): boolean {
  const starts = module.exports.some(({ kind, name }) => kind === "function" && name === "_start");
  return starts && exact.size === module.importedFunctionCount;
}

/** True if the host reports exactly the reads and writes of an imported function. */
function isExactImport({ module, field }: { module: string; field: string }): boolean {
  return (module === "wasi_snapshot_preview1" || module === "wasi_unstable") && WASI_FUNCTIONS.has(field);
}

/** Displacement of a load that traps in every 32-bit memory. */
const OUT_OF_REACH = 0xffffffff;

/**
 * Computes local `address` = parameter 0 + local `displacement`, in a function that does an access. `whole` is a local
 * for the sum in the memory's address type; in 32-bit memories it is `address` itself.
 */
export function computeAddress(
  body: BodyBuilder,
  displacement: number,
  address: number,
  whole: number,
): void {
  body.op("local.get", 0).op("local.get", displacement);
  if (whole === address) body.op("i32.add").op("local.set", address);
  else {
    body.op("i64.extend_i32_u").op("i64.add").op("local.tee", whole);
    body.op("i32.wrap_i64").op("local.set", address);
  }
}

/**
 * Does the work of `computeAddress` and `checkAddress` for 32-bit memories in less code. `tooFar` is the index of
 * `trapTooFar`.
 */
export function computeNear(body: BodyBuilder, displacement: number, address: number, tooFar: number): void {
  body.op("local.get", 0).op("local.get", displacement).op("i32.add").op("local.tee", address);
  body.op("local.get", 0).op("i32.lt_u").open("if").op("call", tooFar).end();
}

export function trapTooFar(): Uint8Array {
  return new BodyBuilder().i32(0).op("i32.load8_u", 0, OUT_OF_REACH).op("drop").finish();
}

/** Traps if the sum of `computeAddress` is beyond any memory that the tool covers. */
export function checkAddress(body: BodyBuilder, address: number, whole: number): void {
  if (whole === address) {
    body.op("local.get", address).op("local.get", 0).op("i32.lt_u").open("if");
    body.op("local.get", 0).op("i32.load8_u", 0, OUT_OF_REACH).op("drop").end();
    return;
  }
  // A sum that overflows 64 bits is small, but then its first operand is not.
  for (const part of [0, whole]) {
    body.op("local.get", part).i64(32).op("i64.shr_u").op("i64.eqz").op("i32.eqz").open("if");
    body.op("local.get", part).op("i32.load8_u", 0, 0).op("drop").end();
  }
}

export function zeroingFunctions(functions: readonly { role: string; index: number }[]): number[] {
  return functions.filter(({ role }) => (ZEROES as ReadonlySet<string>).has(role)).map(({ index }) => index);
}
