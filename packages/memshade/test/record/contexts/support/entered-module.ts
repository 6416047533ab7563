import { Choices } from "../../../support/random-module.ts";

export interface EnteredModule {
  text: string;
  /**
   * True if the module has tail calls by reference. The tool may then miss that the host had control after a call that led out of the
   * module.
   */
  leavesByReference: boolean;
}

const FUNCTIONS = 6;
const SLOTS = 8;

/** Exports that an instance of such a module may have besides its functions. */
export interface EnteredExports extends Record<string, unknown> {
  memory: WebAssembly.Memory;
  /** Refills the fuel for function calls, so that every call terminates. */
  refuel(): void;
  pure(): void;
}

/**
 * Functions of type () → () that store once, load a few times, and call each other, the host (`host.log`) and their imports (`host.other`):
 * by name, through tables and through references. `host.stores` is the number of stores so far.
 * All stores go to the same address, each with a value of its own.
 * The seed decides how often each function is exported, and the content of tables, globals and element segments of every kind.
 * @param imports declarations of further functions that the module may call
 */
export function enteredModule(seed: number, imports: readonly string[] = []): EnteredModule {
  const choices = new Choices(seed);
  const tailCalls = choices.chance(30);
  const names = Array.from({ length: FUNCTIONS }, (_, i) => `$f${i}`);
  const all = [...names, "$log", "$other", ...imports.map((_, i) => `$more${i}`)];
  const some = () => Array.from({ length: 1 + choices.below(4) }, () => choices.of(all));
  const table = choices.of(["$t", "$u"]);
  const exported = new Set<string>();
  const body = (): string => {
    const loads = "(drop (i32.load (i32.const 256)))".repeat(choices.below(4));
    const calls = Array.from({ length: choices.below(3) }, () => call(choices, all, table, ""));
    if (tailCalls && choices.chance(50)) calls.push(call(choices, all, table, "return_"));
    return `(if (call $run) (then ${loads} ${calls.join(" ")}))`;
  };
  const functions = names.map((name, i) => {
    const exports = Array.from({ length: choices.below(3) }, (_, n) => `(export "f${i}_${n}")`);
    if (exports.length > 0) exported.add(name);
    return `(func ${name} ${exports.join(" ")} (type $v) ${body()})`;
  });
  const again = ["$log", "$other"].filter(() => choices.chance(30));
  for (const name of again) exported.add(name);
  const given = all.filter(() => choices.chance(15));
  const kept = all.filter(() => choices.chance(15));
  const declared = given.filter((name) => !exported.has(name) && !kept.includes(name));
  const lines = [
    ...Array.from({ length: 1 + choices.below(3) }, (_, i) => segment(choices, some(), i)),
    ...again.map((name) => `(export "again_${name.slice(1)}" (func ${name}))`),
    ...given.map((name, i) => `(func (export "give${i}") (result funcref) (ref.func ${name}))`),
    ...kept.map((name, i) => `(global (export "g${i}") funcref (ref.func ${name}))`),
    declared.length === 0 ? "" : `(elem declare func ${declared.join(" ")})`,
  ];
  if (choices.chance(40))
    lines.push(`(func (export "look") (param i32) (result funcref) (table.get ${table} (local.get 0)))`);
  if (choices.chance(40))
    lines.push(`(func (export "take") (param funcref)
      (table.set ${table} (i32.const 7) (local.get 0)) (call_indirect ${table} (type $v) (i32.const 7)))`);
  if (choices.chance(30)) lines.push(`(start ${choices.of(names)})`);
  const text = `(module
    (type $v (func))
    (import "host" "log" (func $log))
    (import "host" "other" (func $other))
    (import "host" "stores" (global $stores (mut i32)))
    ${imports.join("\n")}
    (memory (export "memory") 1 2)
    (table $t ${choices.chance(60) ? '(export "t")' : ""} ${SLOTS} funcref)
    (table $u ${choices.chance(20) ? '(export "u")' : ""} ${SLOTS} funcref)
    (global $fuel (mut i32) (i32.const 4))
    (func (export "refuel") (global.set $fuel (i32.const 12)))
    (global $next (mut i32) (i32.const 4096))
    (func $malloc (export "malloc") (param i32) (result i32)
      (global.set $next (i32.add (global.get $next) (i32.const 16))) (global.get $next))
    (func $free (export "free") (param i32))
    (func $run (result i32)
      (if (i32.eqz (global.get $fuel)) (then (return (i32.const 0))))
      (global.set $fuel (i32.sub (global.get $fuel) (i32.const 1)))
      (drop (call $malloc (i32.const 8)))
      (global.set $stores (i32.add (global.get $stores) (i32.const 1)))
      (i32.store (i32.const 64) (global.get $stores))
      (i32.const 1))
    (func (export "pure") (type $v) (drop (call $run)))
    ${functions.join("\n")}
    ${lines.join("\n")})`;
  return { text, leavesByReference: text.includes("return_call_indirect") };
}

function call(choices: Choices, all: readonly string[], table: string, how: "" | "return_"): string {
  const callee = choices.of(all);
  const slot = choices.below(SLOTS);
  if (choices.chance(40)) return `(${how}call ${callee})`;
  const indirect = `(${how}call_indirect ${table} (type $v) (i32.const ${slot}))`;
  return `(if (i32.eqz (ref.is_null (table.get ${table} (i32.const ${slot})))) (then ${indirect}))`;
}

function segment(choices: Choices, functions: readonly string[], number: number): string {
  const table = choices.of(["$t", "$u"]);
  const at = choices.below(SLOTS - functions.length + 1);
  const items = choices.of([
    `func ${functions.join(" ")}`,
    `funcref ${functions.map((name) => `(ref.func ${name})`).join(" ")}`,
  ]);
  if (choices.chance(60)) return `(elem (table ${table}) (i32.const ${at}) ${items})`;
  const fill = `(table.init ${table} $e${number} (i32.const ${at}) (i32.const 0) (i32.const ${functions.length}))`;
  return `(elem $e${number} ${items}) (func (export "fill${number}") ${fill})`;
}
