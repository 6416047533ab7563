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
 * How inline code refers to sites: by keys, and by the
 * addresses of their records. What a key is depends on whether contexts are told apart.
 */
export interface SiteRecords {
  /** Pushes the key of a store. */
  pushId(sink: SnippetSink, key: number): void;
  /** Pushes what inline code calls the runtime with: a number, or the address of the record. */
  pushStore(sink: SnippetSink, key: number): void;
  pushLoad(sink: SnippetSink, key: number): void;
  /** What a function in the place of an access is told of its site: so many operands, of type i32. */
  readonly coldOperands: number;
  pushCold(sink: SnippetSink, key: number): void;
  /** In such a function: the first of the parameters with them becomes what `pushStore` and `pushLoad` push. */
  setCold(sink: SnippetSink, parameter: number): void;
  /** Pushes what the addresses of counters are counted from. */
  pushBase(sink: SnippetSink): void;
  /** Address, counted from the base, of a store's silent ones; `key` and `site` belong together. */
  silentAt(key: number, site: number): number;
  /** The same of a load's that found bytes which were not read before. */
  freshAt(key: number, site: number): number;
  /** The same of the runs of a block that begins with a site. */
  runsAt(key: number, site: number): number;
  /** Pushes the id that a store has, four times, or zero while it has none. */
  pushIds(sink: SnippetSink, key: number): void;
  /** The same of the store of which a local has what `pushStore` pushes. */
  pushIdsOf(sink: SnippetSink, local: number): void;
}

/** Records in frames begin at multiples of 8, which are shorter to say as such. */
const RECORD_UNIT_SHIFT = 3;

/** Without contexts: keys are numbers of the program's stores and loads. */
export class FixedRecords implements SiteRecords {
  readonly #layout: WasteLayout;
  readonly #memory: number;
  /** Local with the address of the counters of a function's first site, so that those of others are short to say. */
  base = 0;
  first = 0;
  /** The same of the id of a function's first store. */
  idsBase = 0;
  firstStore = 0;

  /** `memory`: index of the tool's. */
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

  /** At the beginning of a function. */
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

  /** At the beginning of a function that stores. */
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

/** With contexts: a local has the frame of the function at hand; keys are bytes from there to the record. */
export class FramedRecords implements SiteRecords {
  readonly #layout: WasteLayout;
  readonly #memory: number;
  /** Local with the address of the frame. */
  frame = 0;

  /** `memory`: index of the tool's. */
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

  /** The frame, and where the record is in it. */
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
    // Not by a shift: addresses take all 32 bits.
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

/*
 * Functions of toolchains' JavaScript that read and write no memory of the module themselves, so that nothing is handed to the
 * host when they are called. They may grow the memory, throw, and call the module back: what that reads and writes is seen as
 * all that the module does.
 *
 * Not among them, as their sources show: `__cxa_throw`, `__cxa_begin_catch`, `__cxa_find_matching_catch_*`,
 * `__resumeException` (fields of the exception in memory), `_tzset_js`, `_localtime_js`, `_gmtime_js`, `_mktime_js` (a struct),
 * `__assert_fail`, `__syscall_*` (strings and structs), `emscripten_num_logical_cores` (a word, in some versions),
 * `emscripten_asm_const_*` (any JavaScript), `__wbindgen_string_new`, `__wbindgen_number_get`, `__wbindgen_throw` (strings and
 * results in memory), and wasm-bindgen's operators, which may run methods of objects.
 */

/**
 * Emscripten, by name without the underscore that JavaScript adds, with the types of result and parameters in Emscripten's own
 * letters: another host's function of that name with other parameters is another function. They are defined in src/lib/libcore.js
 * and src/lib/libexceptions.js; versions 2 and 3 had theirs in src/library.js.
 */
const EMSCRIPTEN: Readonly<Record<string, string>> = {
  // Clocks: they return a number.
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
  // They throw.
  abort: "v",
  _abort_js: "v",
  _emscripten_throw_longjmp: "v",
  emscripten_throw_longjmp: "v",
  // Variables of the JavaScript.
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
 * `invoke_vii`: notes the stack pointer, calls the function of a table index, and catches what is thrown (`makeInvoke` in
 * src/jsifier, `createInvokeFunction` in src/lib/libdylink.js).
 */
const INVOKE = /^invoke_([vijfdp][ijfdp]*)$/;

/**
 * wasm-bindgen's intrinsics that take and give handles, booleans and numbers, with neither strings nor options, and run no code of
 * the objects (crates/cli-support/src/intrinsic.rs has their signatures, crates/cli-support/src/js/mod.rs their JavaScript).
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

/** Whether an imported function is known to read and write nothing, by its name as the toolchain has it. */
export function touchesNoMemory(name: string, type: FuncType): boolean {
  if (BINDGEN.has(name)) return true;
  const invoked = INVOKE.exec(name)?.[1];
  // The parameters are the index in the table and those of the function that is called.
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

/** Displacement of a load that no 32-bit memory reaches. */
const OUT_OF_REACH = 0xffffffff;

/**
 * In functions that do an access: local `address` = parameter 0 + local `displacement`. `whole`: a local of the type of the
 * memory's addresses for the same, the local `address` itself in 32-bit memories.
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

/** As `computeAddress` and `checkAddress` for 32-bit memories, where `tooFar` is the index of `trapTooFar`: shorter. */
export function computeNear(body: BodyBuilder, displacement: number, address: number, tooFar: number): void {
  body.op("local.get", 0).op("local.get", displacement).op("i32.add").op("local.tee", address);
  body.op("local.get", 0).op("i32.lt_u").open("if").op("call", tooFar).end();
}

/** A function that traps as a load does beyond all memory. */
export function trapTooFar(): Uint8Array {
  return new BodyBuilder().i32(0).op("i32.load8_u", 0, OUT_OF_REACH).op("drop").finish();
}

/** Traps where the sum that `computeAddress` computed is beyond any memory that is followed. */
export function checkAddress(body: BodyBuilder, address: number, whole: number): void {
  if (whole === address) {
    body.op("local.get", address).op("local.get", 0).op("i32.lt_u").open("if");
    body.op("local.get", 0).op("i32.load8_u", 0, OUT_OF_REACH).op("drop").end();
    return;
  }
  // A sum beyond 64 bits is small; its first operand is not.
  for (const part of [0, whole]) {
    body.op("local.get", part).i64(32).op("i64.shr_u").op("i64.eqz").op("i32.eqz").open("if");
    body.op("local.get", part).op("i32.load8_u", 0, 0).op("drop").end();
  }
}

/** Functions that hand out zeroed blocks. */
export function zeroingFunctions(functions: readonly { role: string; index: number }[]): number[] {
  return functions.filter(({ role }) => (ZEROES as ReadonlySet<string>).has(role)).map(({ index }) => index);
}
