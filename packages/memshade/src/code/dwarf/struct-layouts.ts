import { FormatError } from "../../ground/bytes/errors.ts";
import * as dw from "./constants.ts";
import { Cursor } from "./cursor.ts";
import { type Die, isTypeUnit } from "./die.ts";
import type { DwarfFile } from "./dwarf-file.ts";

/** Member of a struct, in bytes from its start; bit fields also have bits. */
export interface StructMember {
  /** Empty for anonymous members; base classes have the name of their type. */
  readonly name: string;
  readonly type: string;
  readonly offset: number;
  /** Undefined if the type has no size. */
  readonly size: number | undefined;
  readonly bitSize?: number;
  readonly bitOffset?: number;
}

export interface StructLayout {
  readonly name: string;
  readonly kind: "struct" | "class" | "union";
  readonly size: number;
  readonly members: readonly StructMember[];
}

const KINDS: Readonly<Record<number, StructLayout["kind"]>> = {
  [dw.DW_TAG_structure_type]: "struct",
  [dw.DW_TAG_class_type]: "class",
  [dw.DW_TAG_union_type]: "union",
};

const DECORATIONS: Readonly<Record<number, (name: string) => string>> = {
  [dw.DW_TAG_pointer_type]: (name) => `${name}*`,
  [dw.DW_TAG_reference_type]: (name) => `${name}&`,
  [dw.DW_TAG_rvalue_reference_type]: (name) => `${name}&&`,
  [dw.DW_TAG_const_type]: (name) => (name.endsWith("*") ? `${name} const` : `const ${name}`),
  [dw.DW_TAG_volatile_type]: (name) => `volatile ${name}`,
  [dw.DW_TAG_restrict_type]: (name) => name,
  [dw.DW_TAG_atomic_type]: (name) => `_Atomic ${name}`,
};

/** Depth to which types of types are followed; real ones nest less deeply. */
const DEEPEST_TYPE = 32;

/**
 * Yields the layouts of all named structs, each name once, in the order of the debug information. A damaged unit
 * ends early.
 */
export function* structLayouts(file: DwarfFile): Generator<StructLayout> {
  const seen = new Set<string>();
  for (const unit of file.units)
    try {
      if (isTypeUnit(unit)) continue;
      for (const layout of layoutsBelow(unit.die, "", 0)) {
        const key = `${layout.name} ${layout.size}`;
        if (seen.has(key)) continue;
        seen.add(key);
        yield layout;
      }
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      file.problems.push(error);
    }
}

function* layoutsBelow(parent: Die, scope: string, depth: number): Generator<StructLayout> {
  if (depth > DEEPEST_TYPE) return;
  for (const die of parent.children()) {
    const name = die.text(dw.DW_AT_name) ?? "";
    const full = scope === "" ? name : `${scope}::${name}`;
    if (die.tag === dw.DW_TAG_namespace) {
      yield* layoutsBelow(die, name === "" ? scope : full, depth + 1);
      continue;
    }
    const kind = KINDS[die.tag];
    if (kind === undefined) continue;
    const size = die.find(dw.DW_AT_byte_size)?.value;
    if (name !== "" && size !== undefined && die.find(dw.DW_AT_declaration) === undefined)
      yield { name: full, kind, size, members: membersOf(die) };
    yield* layoutsBelow(die, full, depth + 1);
  }
}

export interface MemberEntry {
  readonly member: StructMember;
  readonly isBase: boolean;
  readonly type: Die | undefined;
}

/** Returns the kind of a type's entry; undefined for anything but a struct, class or union. */
export function kindOfStruct(type: Die): StructLayout["kind"] | undefined {
  return KINDS[type.tag];
}

function membersOf(struct: Die): StructMember[] {
  return [...memberEntries(struct)].map(({ member }) => member);
}

/**
 * Members of a struct and its bases.
 *
 * @throws FormatError if they are damaged
 */
export function* memberEntries(struct: Die): Generator<MemberEntry> {
  for (const die of struct.children()) {
    const isBase = die.tag === dw.DW_TAG_inheritance;
    if (die.tag !== dw.DW_TAG_member && !isBase) continue;
    // Static members have no offset in the struct.
    if (die.find(dw.DW_AT_external) !== undefined) continue;
    const type = die.reference(dw.DW_AT_type);
    const typeName = nameOfType(type, 0);
    const size = die.find(dw.DW_AT_byte_size)?.value ?? sizeOfType(type, 0);
    const bitSize = die.find(dw.DW_AT_bit_size)?.value;
    const bitOffset = die.find(dw.DW_AT_data_bit_offset)?.value;
    const member = {
      name: isBase ? typeName : (die.text(dw.DW_AT_name) ?? ""),
      type: typeName,
      offset: bitOffset === undefined ? offsetOf(die) : Math.floor(bitOffset / 8),
      size,
      ...(bitSize === undefined ? {} : { bitSize }),
      ...(bitOffset === undefined ? {} : { bitOffset }),
    };
    yield { member, isBase, type };
  }
}

function offsetOf(member: Die): number {
  const location = member.find(dw.DW_AT_data_member_location);
  if (location === undefined) return 0;
  if (location.length === 0) return location.value;
  // Old compilers write an expression that adds the offset.
  const cursor = new Cursor(member.unit.file.info.bytes, location.value, ".debug_info");
  return cursor.u8() === dw.DW_OP_plus_uconst ? cursor.uleb() : 0;
}

function nameOfType(type: Die | undefined, depth: number): string {
  if (type === undefined) return "void";
  if (depth > DEEPEST_TYPE) return "…";
  const name = type.text(dw.DW_AT_name);
  if (name !== undefined) return name;
  const inner = () => nameOfType(type.reference(dw.DW_AT_type), depth + 1);
  if (type.tag === dw.DW_TAG_array_type) {
    const counts = arrayCounts(type).map((count) => `[${count ?? ""}]`);
    return `${inner()}${counts.join("")}`;
  }
  if (type.tag === dw.DW_TAG_subroutine_type) return "function";
  const kind = KINDS[type.tag];
  if (kind !== undefined) return kind;
  return DECORATIONS[type.tag]?.(inner()) ?? "";
}

function sizeOfType(type: Die | undefined, depth: number): number | undefined {
  if (type === undefined || depth > DEEPEST_TYPE) return undefined;
  const size = type.find(dw.DW_AT_byte_size)?.value;
  if (size !== undefined) return size;
  switch (type.tag) {
    case dw.DW_TAG_pointer_type:
    case dw.DW_TAG_reference_type:
    case dw.DW_TAG_rvalue_reference_type:
      return type.unit.header.addressSize;
    case dw.DW_TAG_array_type: {
      const element = sizeOfType(type.reference(dw.DW_AT_type), depth + 1);
      return arrayCounts(type).reduce<number | undefined>(
        (total, count) => (total === undefined || count === undefined ? undefined : total * count),
        element,
      );
    }
    default:
      return sizeOfType(type.reference(dw.DW_AT_type), depth + 1);
  }
}

function arrayCounts(array: Die): (number | undefined)[] {
  const counts: (number | undefined)[] = [];
  for (const die of array.children()) {
    if (die.tag !== dw.DW_TAG_subrange_type) continue;
    const count = die.find(dw.DW_AT_count)?.value;
    const last = die.find(dw.DW_AT_upper_bound);
    const isNumber = last !== undefined && last.length === 0;
    counts.push(count ?? (isNumber ? last.value + 1 : undefined));
  }
  return counts;
}
