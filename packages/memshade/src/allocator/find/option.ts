import { UserError } from "../../bytes/errors.ts";
import { formatType, functionCount, functionType, type WasmModule } from "../../wasm/index.ts";
import { fitsOperands } from "./hooks.ts";
import type { AllocatorRole, OperandPositions } from "./plan.ts";
import { ROLES } from "./plan.ts";
import { splitName, withoutCloneSuffix } from "./symbol-names.ts";

/*
 * The text of `--allocator`: items separated by commas.
 *
 *     auto                       also what is found without the option
 *     ROLE=NAME                  a function by its name (name section, then exports)
 *     ROLE=#INDEX                a function by its index
 *     ROLE=NAME:POSITION...      with the positions of its operands, counted from 0
 *
 *     malloc=arena_alloc:1       the size is parameter 1
 *     realloc=pool_resize:1:2    the old block is parameter 1, the size parameter 2
 *
 * A role may be given several times. NAME may hold commas, colons and parentheses, as C++ names do.
 */

/** One function named by the option. */
export interface ChosenFunction {
  index: number;
  role: AllocatorRole;
  operands: OperandPositions;
}

export interface AllocatorChoice {
  /** also use what is found without the option */
  auto: boolean;
  functions: ChosenFunction[];
}

/** Roles that can be named, with the operands whose positions may follow, in their order. */
const POSITIONS = {
  malloc: ["sizeParam"],
  calloc: ["countParam", "sizeParam"],
  realloc: ["pointerParam", "sizeParam"],
  free: ["pointerParam"],
  memalign: ["sizeParam"],
  aligned_alloc: ["sizeParam"],
  posix_memalign: ["outPointerParam", "sizeParam"],
  reallocarray: ["pointerParam", "countParam", "sizeParam"],
  new: ["sizeParam"],
  delete: ["pointerParam"],
} as const satisfies Partial<Record<AllocatorRole, readonly (keyof OperandPositions)[]>>;

type ChoosableRole = keyof typeof POSITIONS;

const isChoosable = (role: string): role is ChoosableRole => Object.hasOwn(POSITIONS, role);

const fail = (message: string): never => {
  throw new UserError(`--allocator: ${message}`);
};

/** Reads the option's text against a module. Throws `UserError` for anything that cannot be meant. */
export function readAllocatorOption(
  text: string,
  module: WasmModule,
  names: ReadonlyMap<number, string>,
): AllocatorChoice {
  const choice: AllocatorChoice = { auto: false, functions: [] };
  for (const item of splitItems(text)) {
    if (item === "auto") choice.auto = true;
    else choice.functions.push(readItem(item, module, names));
  }
  const seen = new Map<number, string>();
  for (const { index, role } of choice.functions) {
    const other = seen.get(index);
    if (other !== undefined) fail(`function ${index} is given twice (${other} and ${role})`);
    seen.set(index, role);
  }
  if (choice.functions.length > 0 && !choice.functions.some(({ operands }) => operands.kind !== "release")) {
    if (!choice.auto) fail("name a function that allocates, too (malloc=NAME)");
  }
  return choice;
}

function splitItems(text: string): string[] {
  const items = text.split(/,(?=\s*(?:auto\s*(?:,|$)|[a-z_]+\s*=))/).map((item) => item.trim());
  const first = items[0] ?? "";
  if (first === "") fail('expected "malloc=NAME,free=NAME" or "auto,…"');
  return items;
}

function readItem(item: string, module: WasmModule, names: ReadonlyMap<number, string>): ChosenFunction {
  const equals = item.indexOf("=");
  if (equals < 0) fail(`"${item}" is not of the form malloc=NAME`);
  const role = item.slice(0, equals).trim();
  if (!isChoosable(role)) return fail(`"${role}" is not one of ${Object.keys(POSITIONS).join(", ")}`);
  const match = /^(.*?)((?::\d+)*)$/.exec(item.slice(equals + 1).trim());
  const reference = match?.[1].trim() ?? "";
  if (reference === "") fail(`${role}= names no function`);
  const index = resolve(reference, module, names);
  const given = (match?.[2] ?? "").split(":").slice(1).map(Number);
  const operands = placeOperands(role, given, `${role}=${reference}`);
  checkType(module, index, operands, `${role}=${reference}`);
  return { index, role, operands };
}

function placeOperands(role: ChoosableRole, given: readonly number[], what: string): OperandPositions {
  const slots = POSITIONS[role];
  const operands = { ...ROLES[role].operands };
  if (given.length === 0) return operands;
  if (given.length !== slots.length) {
    fail(
      `${what} takes ${slots.length === 1 ? "one position" : `${slots.length} positions`} (${describe(slots)})`,
    );
  }
  if (new Set(given).size < given.length) fail(`${what} gives one position twice`);
  slots.forEach((slot, i) => {
    operands[slot] = given[i];
  });
  return operands;
}

const describe = (slots: readonly (keyof OperandPositions)[]) =>
  slots
    .map((slot) => slot.replace("Param", "").replace("outPointer", "where the result is stored"))
    .join(":");

function resolve(reference: string, module: WasmModule, names: ReadonlyMap<number, string>): number {
  const count = functionCount(module);
  let index: number;
  if (/^#\d+$/.test(reference)) {
    index = Number(reference.slice(1));
    if (index >= count) fail(`there is no function ${reference}, the module has ${count}`);
  } else index = findByName(reference, module, names);
  if (index < module.importedFunctionCount) {
    fail(`${reference} is imported, only functions of the module itself can be hooked`);
  }
  return index;
}

/** Whole names first, then last identifiers of demangled names, then exports, then imports (to say so). */
function findByName(name: string, module: WasmModule, names: ReadonlyMap<number, string>): number {
  const search = [
    () => indicesOf(names, (other) => other === name),
    () => indicesOf(names, (other) => splitName(withoutCloneSuffix(other)).base === name),
    () =>
      module.exports
        .filter((entry) => entry.kind === "function" && entry.name === name)
        .map(({ index }) => index),
    () => importsNamed(module, name),
  ];
  for (const attempt of search) {
    const found = [...new Set(attempt())];
    const own = found.filter((index) => index >= module.importedFunctionCount);
    const matches = own.length > 0 ? own : found;
    if (matches.length === 1) return matches[0];
    if (matches.length > 1) {
      const shown = matches.slice(0, 4).map((index) => `#${index}`);
      return fail(
        `${matches.length} functions are called "${name}": say which by ${shown.join(", ")}${matches.length > 4 ? ", …" : ""}`,
      );
    }
  }
  const hint = names.size === 0 ? " (it has no name section: use an export or #INDEX)" : "";
  return fail(`the module has no function "${name}"${hint}`);
}

function indicesOf(names: ReadonlyMap<number, string>, matches: (name: string) => boolean): number[] {
  const found: number[] = [];
  for (const [index, name] of names) if (matches(name)) found.push(index);
  return found;
}

function importsNamed(module: WasmModule, name: string): number[] {
  return module.imports
    .filter(({ kind }) => kind === "function")
    .flatMap(({ module: from, field }, index) =>
      field === name || `${from}.${field}` === name ? [index] : [],
    );
}

function checkType(module: WasmModule, index: number, operands: OperandPositions, what: string): void {
  const type = functionType(module, index);
  if (fitsOperands(type, operands)) return;
  const shape = `(${type.params.map(formatType).join(", ")}) -> (${type.results.map(formatType).join(", ")})`;
  fail(`${what} does not fit a function of type ${shape}; give the positions of its operands if they differ`);
}
