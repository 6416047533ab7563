import { F32, F64, type FuncType, I32, I64, type ValType } from "../../../../../code/wasm/index.ts";

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
