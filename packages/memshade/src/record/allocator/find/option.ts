import { formatType, functionCount, functionType, type WasmModule } from "../../../code/wasm/index.ts";
import { UserError } from "../../../ground/bytes/errors.ts";
import { fitsOperands } from "./hooks.ts";
import type { AllocatorRole, OperandPositions } from "./plan.ts";
import { ROLES, usualOperands } from "./plan.ts";
import { splitName, withoutCloneSuffix } from "./symbol-names.ts";

/*
 * Syntax of `--allocator`: items separated by commas.
 *
 *     auto                       also search as without the option
 *     ROLE=NAME                  a function by its name (name section, then exports)
 *     ROLE=#INDEX                a function by its index
 *     ROLE=NAME:POSITION...      with the positions of its operands, counted from 0
 *
 *     malloc=arena_alloc:1       the size is parameter 1
 *     realloc=pool_resize:1:2    the old block is parameter 1, the size parameter 2
 *
 * A role may be given several times. NAME may contain commas, colons and parentheses, as C++ names do.
 */

export interface ChosenFunction {
  index: number;
  role: AllocatorRole;
  operands: OperandPositions;
}

export interface AllocatorChoice {
  /** True to search as without the option, too. */
  auto: boolean;
  functions: ChosenFunction[];
}

/** Roles of the option, with the operands whose positions may follow, in order. */
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

/** The option does not fit this module. It may be meant for another module of the program. */
export class AllocatorMismatch extends UserError {}

const fail = (message: string): never => {
  throw new UserError(`--allocator: ${message}`);
};

const mismatch = (message: string): never => {
  throw new AllocatorMismatch(`--allocator: ${message}`);
};

interface Item {
  role: ChoosableRole;
  reference: string;
  /** Positions of the given operands, in the order of `POSITIONS`. */
  positions: number[];
}

/**
 * Resolves the option's text for a module.
 *
 * @throws UserError if the text is invalid or does not fit
 */
export function readAllocatorOption(
  text: string,
  module: WasmModule,
  names: ReadonlyMap<number, string>,
): AllocatorChoice {
  const { auto, items } = parse(text);
  const functions = items.map((item) => bind(item, module, names));
  const seen = new Map<number, string>();
  for (const { index, role } of functions) {
    const other = seen.get(index);
    if (other !== undefined) mismatch(`function ${index} is given twice (${other} and ${role})`);
    seen.set(index, role);
  }
  return { auto, functions };
}

/**
 * Checks the text without a module.
 *
 * @throws UserError if it can fit no module
 */
export function checkAllocatorOption(text: string): void {
  parse(text);
}

function parse(text: string): { auto: boolean; items: Item[] } {
  const words = splitItems(text);
  const auto = words.includes("auto");
  const items = words.filter((word) => word !== "auto").map(parseItem);
  const seen = new Map<string, string>();
  for (const { role, reference } of items) {
    const other = seen.get(reference);
    if (other !== undefined) fail(`${reference} is given twice (${other} and ${role})`);
    seen.set(reference, role);
  }
  const allocates = items.some(({ role }) => ROLES[role].operands.kind !== "release");
  if (items.length > 0 && !allocates && !auto) fail("name a function that allocates, too (malloc=NAME)");
  return { auto, items };
}

function splitItems(text: string): string[] {
  const items = text.split(/,(?=\s*(?:auto\s*(?:,|$)|[a-z_]+\s*=))/).map((item) => item.trim());
  const first = items[0] ?? "";
  if (first === "") fail('expected "malloc=NAME,free=NAME" or "auto,…"');
  return items;
}

function parseItem(item: string): Item {
  const equals = item.indexOf("=");
  if (equals < 0) fail(`"${item}" is not of the form malloc=NAME`);
  const role = item.slice(0, equals).trim();
  if (!isChoosable(role)) return fail(`"${role}" is not one of ${Object.keys(POSITIONS).join(", ")}`);
  const match = /^(.*?)((?::\d+)*)$/.exec(item.slice(equals + 1).trim());
  const reference = match?.[1].trim() ?? "";
  if (reference === "") fail(`${role}= names no function`);
  const positions = (match?.[2] ?? "").split(":").slice(1).map(Number);
  const slots = POSITIONS[role];
  const label = `${role}=${reference}`;
  if (positions.length > 0 && positions.length !== slots.length)
    fail(
      `${label} takes ${slots.length === 1 ? "one position" : `${slots.length} positions`} (${describe(slots)})`,
    );
  if (new Set(positions).size < positions.length) fail(`${label} gives one position twice`);
  return { role, reference, positions };
}

function bind(
  { role, reference, positions }: Item,
  module: WasmModule,
  names: ReadonlyMap<number, string>,
): ChosenFunction {
  const index = resolve(reference, module, names);
  const usual = usualOperands(role, functionType(module, index).params.length);
  const operands = { ...(usual ?? ROLES[role].operands) };
  positions.forEach((position, i) => {
    operands[POSITIONS[role][i]] = position;
  });
  checkType(module, index, operands, `${role}=${reference}`);
  return { index, role, operands };
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
    if (index >= count) mismatch(`there is no function ${reference}, the module has ${count}`);
  } else index = findByName(reference, module, names);
  if (index < module.importedFunctionCount)
    mismatch(`${reference} is imported, only functions of the module itself can be hooked`);
  return index;
}

/**
 * Searches whole names first, then last identifiers of demangled names, then exports, then imports (for a clear error).
 */
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
      return mismatch(
        `${matches.length} functions are called "${name}": say which by ${shown.join(", ")}${matches.length > 4 ? ", …" : ""}`,
      );
    }
  }
  const hint = names.size === 0 ? " (it has no name section: use an export or #INDEX)" : "";
  return mismatch(`the module has no function "${name}"${hint}`);
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

function checkType(module: WasmModule, index: number, operands: OperandPositions, label: string): void {
  const type = functionType(module, index);
  if (fitsOperands(type, operands)) return;
  const shape = `(${type.params.map(formatType).join(", ")}) -> (${type.results.map(formatType).join(", ")})`;
  mismatch(
    `${label} does not fit a function of type ${shape}; give the positions of its operands if they differ`,
  );
}
