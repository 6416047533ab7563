import {
  Cursor,
  Die,
  dw,
  locationExpressions,
  type SubroutineIndex,
  typeSize,
  type Unit,
} from "../../code/dwarf/index.ts";
import { FormatError } from "../../ground/bytes/errors.ts";
import type { StaticVariable } from "../../profile/model/statics.ts";

/** Parameter or variable of a function, or of one that was inlined into it. */
export interface LocalVariable {
  /** Source name of the function that declares it. */
  readonly functionName: string | undefined;
  readonly name: string | undefined;
  readonly file: string | undefined;
  /** Line from 1; 0 if unknown. */
  readonly line: number;
  /** Bytes from the base of the function's frame; undefined if the variable has no fixed place in the frame. */
  readonly frameOffset: number | undefined;
  readonly sizeBytes: number | undefined;
  /** Difference from the frame's tag, in tagged memory. */
  readonly tagOffset: number | undefined;
}

/** Declaration of a variable with a fixed address. */
export interface DataDeclaration {
  readonly file: string | undefined;
  readonly line: number;
}

export type { StaticVariable };

type PathOf = (file: number, unit: Unit) => string | undefined;

/**
 * Returns all variables of the innermost subroutine at an address, with those of functions inlined into it.
 */
export function localVariables(index: SubroutineIndex, address: number, pathOf: PathOf): LocalVariable[] {
  const innermost = index.innermostAt(address);
  if (innermost < 0) return [];
  const root = new Die(index.unit, index.offsetOf(innermost));
  const locals: LocalVariable[] = [];
  /** Function around entries, by depth; undefined inside of variables, whose children are skipped. */
  const functions: (Die | undefined)[] = [root];
  for (const { die, depth } of root.descendants()) {
    const enclosing = functions[depth - 1];
    functions[depth] = enclosing;
    if (enclosing === undefined) continue;
    if (die.tag === dw.DW_TAG_variable || die.tag === dw.DW_TAG_formal_parameter) {
      locals.push(describe(die, enclosing, pathOf));
      functions[depth] = undefined;
    } else if (die.tag === dw.DW_TAG_inlined_subroutine)
      functions[depth] = die.reference(dw.DW_AT_abstract_origin) ?? enclosing;
  }
  return locals;
}

function describe(variable: Die, enclosing: Die, pathOf: PathOf): LocalVariable {
  const origin = variable.reference(dw.DW_AT_abstract_origin) ?? variable;
  const file = origin.find(dw.DW_AT_decl_file)?.value;
  return {
    functionName: enclosing.inheritedText([dw.DW_AT_name]),
    name: origin.text(dw.DW_AT_name),
    file: file === undefined ? undefined : pathOf(file, variable.unit),
    line: origin.find(dw.DW_AT_decl_line)?.value ?? 0,
    frameOffset: frameOffset(variable, enclosing),
    sizeBytes: typeSize(origin.reference(dw.DW_AT_type)),
    tagOffset: variable.find(dw.DW_AT_LLVM_tag_offset)?.value,
  };
}

/** Returns the first offset from the frame's base among the location expressions of a variable. */
function frameOffset(variable: Die, enclosing: Die): number | undefined {
  const value = enclosing.find(dw.DW_AT_frame_base);
  const register =
    value === undefined || value.length === 0 ? 0 : enclosing.unit.file.info.bytes[value.value];
  for (const expression of locationExpressions(variable)) {
    const offset = offsetIn(expression, register);
    if (offset !== undefined) return offset;
  }
  return undefined;
}

/** Returns the offset in an expression that consists of the frame's base, or its register, and an offset. */
function offsetIn(expression: Uint8Array, base: number): number | undefined {
  if (expression.length === 0) return undefined;
  const isRegister = base >= dw.DW_OP_reg0 && base <= dw.DW_OP_reg31;
  const opcode = expression[0];
  if (opcode !== dw.DW_OP_fbreg && !(isRegister && opcode === dw.DW_OP_breg0 + base - dw.DW_OP_reg0))
    return undefined;
  const cursor = new Cursor(expression, 1, "location");
  const offset = cursor.sleb();
  const remaining = expression.length - cursor.position;
  return remaining === 0 || (remaining === 1 && cursor.u8() === dw.DW_OP_deref) ? offset : undefined;
}

interface PlacedVariable {
  readonly start: number;
  readonly end: number;
  readonly bytes: number | undefined;
  readonly die: Die;
  readonly scope: readonly string[];
}

/** Variables of one unit with fixed addresses. */
export class UnitVariables {
  readonly #variables: readonly PlacedVariable[];

  constructor(unit: Unit) {
    const byStart = new Map<number, PlacedVariable>();
    try {
      collect(unit, byStart);
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      unit.file.problems.push(error);
    }
    this.#variables = [...byStart.values()].sort((a, b) => a.start - b.start);
  }

  find(address: number, pathOf: PathOf): DataDeclaration | undefined {
    const last = this.#variables.findLast(({ start }) => start <= address);
    return last === undefined || address >= last.end ? undefined : declarationOf(last.die, pathOf);
  }

  *describeAll(pathOf: PathOf): Generator<StaticVariable> {
    for (const { start, bytes, die, scope } of this.#variables) {
      const name = die.inheritedText([dw.DW_AT_name]);
      yield {
        address: start,
        bytes,
        name: name === undefined ? undefined : [...scope, name].join("::"),
        linkageName: die.inheritedText([dw.DW_AT_linkage_name, dw.DW_AT_MIPS_linkage_name]),
        ...declarationOf(die, pathOf),
      };
    }
  }
}

function declarationOf(die: Die, pathOf: PathOf): DataDeclaration {
  const file = die.findInherited([dw.DW_AT_decl_file]);
  const line = die.findInherited([dw.DW_AT_decl_line])?.value.value ?? 0;
  // llvm-symbolizer finds no file by a number in the abbreviation, as for functions.
  const isFound = file !== undefined && file.value.form !== dw.DW_FORM_implicit_const;
  return { file: isFound ? pathOf(file.value.value, file.die.unit) : undefined, line };
}

/** Entries of types contain no variables with addresses, or only ones that are declared again outside. */
const TYPES: ReadonlySet<number> = new Set([
  dw.DW_TAG_array_type,
  dw.DW_TAG_base_type,
  dw.DW_TAG_class_type,
  dw.DW_TAG_const_type,
  dw.DW_TAG_enumeration_type,
  dw.DW_TAG_pointer_type,
  dw.DW_TAG_structure_type,
  dw.DW_TAG_subroutine_type,
  dw.DW_TAG_typedef,
  dw.DW_TAG_union_type,
]);

/** Entries whose names are prefixes of the names inside them. */
const SCOPES: ReadonlySet<number> = new Set([
  dw.DW_TAG_namespace,
  dw.DW_TAG_subprogram,
  dw.DW_TAG_inlined_subroutine,
]);

function collect(unit: Unit, byStart: Map<number, PlacedVariable>): void {
  let typeDepth = Number.POSITIVE_INFINITY;
  const scopes: string[] = [];
  for (const { die, depth } of unit.die.descendants()) {
    if (depth > typeDepth) continue;
    typeDepth = TYPES.has(die.tag) ? depth : Number.POSITIVE_INFINITY;
    scopes[depth] = SCOPES.has(die.tag) ? (die.inheritedText([dw.DW_AT_name]) ?? "") : "";
    if (die.tag !== dw.DW_TAG_variable) continue;
    const start = addressOf(die);
    if (start === undefined) continue;
    const bytes = typeSize(die.reference(dw.DW_AT_type));
    const scope = scopes.slice(0, depth).filter((name) => name !== "");
    byStart.set(start, { start, end: start + (bytes ?? 1), bytes, die, scope });
  }
}

/** Returns undefined for a variable without a fixed address. */
export function addressOf(variable: Die): number | undefined {
  for (const expression of locationExpressions(variable)) {
    const address = addressIn(expression, variable.unit);
    if (address !== undefined) return address;
  }
  return undefined;
}

/** Address in an expression that consists of an address, possibly with an offset. */
function addressIn(expression: Uint8Array, unit: Unit): number | undefined {
  if (expression.length === 0) return undefined;
  const cursor = new Cursor(expression, 0, "location");
  const opcode = cursor.u8();
  let address: number | undefined;
  if (opcode === dw.DW_OP_addr) address = cursor.unsigned(unit.header.addressSize);
  else if (opcode === dw.DW_OP_addrx || opcode === dw.DW_OP_GNU_addr_index)
    address = unit.addressAt(cursor.uleb());
  if (address === undefined || cursor.position === expression.length) return address;
  if (cursor.u8() !== dw.DW_OP_plus_uconst) return undefined;
  const offset = cursor.uleb();
  return cursor.position === expression.length ? address + offset : undefined;
}
