import {
  type Die,
  DwarfFile,
  type DwarfSource,
  dw,
  kindOfStruct,
  lineTableOf,
  memberEntries,
  SubroutineIndex,
  structLayouts,
  typeSize,
  type Unit,
  UnitIndex,
} from "../../code/dwarf/index.ts";
import { FormatError } from "../../ground/bytes/errors.ts";
import type { BlockMember, BlockType, BlockTypeRule } from "../../profile/model/block-type.ts";
import { addressOf } from "./variables.ts";

interface Level {
  readonly die: Die;
  readonly line: number;
}

/** Result of one rule: a struct, the certainty that it is none, or undefined. */
type Verdict = Die | "none" | undefined;

const DEEPEST = 16;

/**
 * Types of heap blocks, from the debug information around the call that allocates them:
 *
 * - `constructor`: the code after the call, inlined or called, is a constructor of a type of that size
 * - `container`: the call is in `std::allocator<T>::allocate`, inlined
 * - `variable`: a pointer to the type, such as a `std::unique_ptr`, is declared on the line of the call
 * - `member`: the result of the call is stored to such a pointer, at a known offset in data that the function's
 *   variables lead to, or at a fixed address
 * - `variable` again, on the lines of the inlined calls around
 * - `result`: the calling function returns such a pointer
 * - `pointer`: exactly one of the types that variables and parameters of the function point to has the blocks'
 *   size; or exactly one fits, if pointers in members of these are included
 * - `size`: exactly one of the structs in the call's compilation unit has the blocks' size
 *
 * All but the last two, and members by `pointer`, also accept blocks whose sizes are multiples of the type's, for arrays.
 * The last two are likely, not certain.
 */
export class BlockTypes {
  readonly #file: DwarfFile;
  readonly #units: UnitIndex;
  readonly #subroutines = new Map<Unit, SubroutineIndex>();
  readonly #lines = new Map<Unit, ReturnType<typeof lineTableOf>>();
  /** Full names of structs by name and size; undefined if several structs have them. */
  #names: Map<string, string | undefined> | undefined;
  #structsOfUnit = new Map<Unit, Die[]>();
  readonly #typedefs = new Map<Unit, Map<number, string>>();

  constructor(source: DwarfSource) {
    this.#file = new DwarfFile(source);
    this.#units = new UnitIndex(this.#file);
  }

  /**
   * @param call address of the call
   * @param behind addresses of code that runs after it: the next instructions, and the start of the function called
   * next
   * @param storedAt location to which the result is stored, if known: a distance from an address, or an address
   */
  at(
    call: number,
    sizes: { smallest: number; largest: number },
    behind: readonly number[],
    storedAt?: number,
  ): BlockType | undefined {
    try {
      return this.#at(call, sizes, behind, storedAt);
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      this.#file.problems.push(error);
      return undefined;
    }
  }

  #at(
    call: number,
    { smallest, largest }: { smallest: number; largest: number },
    behind: readonly number[],
    storedAt: number | undefined,
  ): BlockType | undefined {
    const unit = this.#units.find(call);
    if (unit === undefined || smallest === 0) return undefined;
    const levels = this.#levels(unit, call);
    const fits = (type: Die): boolean => {
      const size = sizeOf(type);
      return size > 0 && smallest % size === 0 && largest % size === 0;
    };
    const isOne = (type: Die): boolean => smallest === largest && sizeOf(type) === smallest;
    const enclosing = new Set(levels.map(({ die }) => originOf(die).offset));
    for (const address of behind) {
      const at = this.#units.find(address);
      for (const { die } of at === undefined ? [] : this.#levels(at, address)) {
        const built = enclosing.has(originOf(die).offset) ? undefined : constructed(die);
        if (built !== undefined && isOne(built)) return this.#type(built, "constructor");
      }
    }
    const [own, ...around] = levels;
    for (const [rule, verdictOf, among] of [
      ["container", containerElement, levels],
      ["variable", declaredOn, own === undefined ? [] : [own]],
    ] as const) {
      const found = firstVerdict(among, (level) => verdictOf(level, fits, isOne));
      if (found !== undefined) return found !== "none" && fits(found) ? this.#type(found, rule) : undefined;
    }
    const held = levels.flatMap(({ die }) =>
      variablesIn(die).flatMap((variable) => pointersFrom(typeOf(variable), 0)),
    );
    const isStored = ({ at = Number.NaN, bytes, target }: HeldPointer): boolean =>
      storedAt !== undefined && storedAt >= at && storedAt < at + bytes && fits(target);
    // A part of an object is stored in it. The caller's variable, on the line of the inlined call, holds the object.
    for (const pointers of storedAt === undefined ? [] : [held, staticPointers(unit.die, 0)]) {
      const [only, ...furtherTypes] = distinct(pointers.filter(isStored).map(({ target }) => target));
      if (only !== undefined && furtherTypes.length === 0) return this.#type(only, "member");
      if (furtherTypes.length > 0) break;
    }
    // An array that also fits a pointer in a member may be that member's: an object and its array are made together.
    const isMembers = (type: Die): boolean =>
      !isOne(type) &&
      distinct([
        type,
        ...held.flatMap(({ at, target }) => (at !== undefined && fits(target) ? [target] : [])),
      ]).length > 1;
    const declared = firstVerdict(around, (level) => declaredOn(level, fits, isOne));
    if (declared !== undefined && declared !== "none" && isMembers(declared)) return undefined;
    if (declared !== undefined)
      return declared !== "none" && fits(declared) ? this.#type(declared, "variable") : undefined;
    for (const { die } of levels) {
      const result = pointee(originOf(die).findInherited([dw.DW_AT_type])?.die.reference(dw.DW_AT_type));
      if (result instanceof Object && fits(result))
        return isMembers(result) ? undefined : this.#type(result, "result");
    }
    for (const { die } of levels) {
      const found = distinct(pointersIn(die).flatMap(({ target }) => (isStruct(target) ? [target] : [])));
      const [only, ...furtherTypes] = found.filter(isOne);
      if (only !== undefined && furtherTypes.length === 0) return this.#type(only, "pointer");
      if (furtherTypes.length > 0) return undefined;
    }
    const [onlyHeld, ...furtherHeld] = distinct(held.flatMap(({ target }) => (fits(target) ? [target] : [])));
    if (onlyHeld !== undefined && furtherHeld.length === 0) return this.#type(onlyHeld, "pointer");
    const [only, ...furtherTypes] = distinct(this.#structsOf(unit).filter(isOne));
    return only !== undefined && furtherTypes.length === 0 ? this.#type(only, "size") : undefined;
  }

  #levels(unit: Unit, address: number): Level[] {
    let index = this.#subroutines.get(unit);
    if (index === undefined) {
      index = new SubroutineIndex(unit);
      this.#subroutines.set(unit, index);
      this.#lines.set(unit, lineTableOf(unit));
    }
    let line = this.#lines.get(unit)?.find(address, { skipLineZero: true })?.line ?? 0;
    return index.chainAt(address).map((subroutine) => {
      const die = unit.dieAt(index.offsetOf(subroutine));
      const level = { die, line };
      line = die.find(dw.DW_AT_call_line)?.value ?? 0;
      return level;
    });
  }

  #structsOf(unit: Unit): Die[] {
    let cached = this.#structsOfUnit.get(unit);
    if (cached === undefined) {
      cached = [...structsBelow(unit.die, 0)];
      this.#structsOfUnit.set(unit, cached);
    }
    return cached;
  }

  #type(struct: Die, by: BlockTypeRule): BlockType | undefined {
    const size = sizeOf(struct);
    const members = merged(leafMembers(struct, "", 0, 0), size);
    if (members.length === 0) return undefined;
    return { name: this.#fullName(struct, size), size, by, members };
  }

  /** C structs often have a name only by a typedef. */
  #typedefOf(struct: Die): string | undefined {
    const { unit } = struct;
    const typedefs = this.#typedefs.get(unit) ?? typedefsBelow(unit.die, new Map(), 0);
    this.#typedefs.set(unit, typedefs);
    return typedefs.get(struct.offset);
  }

  /** Returns the struct's name with its namespaces, if the name and size are unique. */
  #fullName(struct: Die, size: number): string {
    const own = struct.text(dw.DW_AT_name);
    if (own === undefined) return this.#typedefOf(struct) ?? `${kindOfStruct(struct)} without a name`;
    if (this.#names === undefined) {
      this.#names = new Map();
      for (const { name, size: bytes } of structLayouts(this.#file)) {
        const key = `${lastName(name)} ${bytes}`;
        const knownName = this.#names.get(key);
        this.#names.set(key, this.#names.has(key) && knownName !== name ? undefined : name);
      }
    }
    return this.#names.get(`${own} ${size}`) ?? own;
  }
}

/** Largest debug information that is searched for types. It is read as a whole, about 60 MiB per second. */
const MOST_BYTES = 2 ** 25;
/** Distances behind a machine's call of the allocator that may lie in the constructor of the block's type. */
const BEHIND = Array.from({ length: 24 }, (_, i) => 4 * i + 1);

/** Returns a function that finds the types of a native object's blocks; undefined if it has no debug information. */
export function nativeBlockTypes(
  object: DwarfSource | undefined,
): ((call: number, smallest: number, largest: number) => BlockType | undefined) | undefined {
  const info = object?.section(".debug_info");
  if (object === undefined || info === undefined || info.length > MOST_BYTES) return undefined;
  const types = new BlockTypes(object);
  return (call, smallest, largest) =>
    types.at(
      call,
      { smallest, largest },
      BEHIND.map((distance) => call + distance),
    );
}

/** Collects typedefs of a scope and its namespaces that are the only names of structs, by the structs' offsets. */
function typedefsBelow(parent: Die, names: Map<number, string>, depth: number): Map<number, string> {
  if (depth > DEEPEST) return names;
  for (const die of parent.children()) {
    if (die.tag === dw.DW_TAG_namespace) typedefsBelow(die, names, depth + 1);
    if (die.tag !== dw.DW_TAG_typedef) continue;
    const struct = die.reference(dw.DW_AT_type);
    const name = die.text(dw.DW_AT_name);
    if (struct !== undefined && name !== undefined && isStruct(struct) && !names.has(struct.offset))
      names.set(struct.offset, name);
  }
  return names;
}

/** Returns the name after the last `::` outside of template arguments. */
function lastName(name: string): string {
  const plain = name.indexOf("<");
  const at = name.lastIndexOf("::", plain < 0 ? name.length : plain);
  return at < 0 ? name : name.slice(at + 2);
}

function firstVerdict(levels: readonly Level[], verdictOf: (level: Level) => Verdict): Verdict {
  for (const level of levels) {
    const verdict = verdictOf(level);
    if (verdict !== undefined) return verdict;
  }
  return undefined;
}

function sizeOf(type: Die): number {
  return type.find(dw.DW_AT_byte_size)?.value ?? 0;
}

function originOf(die: Die): Die {
  return die.reference(dw.DW_AT_abstract_origin) ?? die;
}

/** Removes typedefs and qualifiers from a type. */
function plainType(type: Die | undefined): Die | undefined {
  let die = type;
  for (let depth = 0; die !== undefined && depth < DEEPEST; depth++)
    switch (die.tag) {
      case dw.DW_TAG_typedef:
      case dw.DW_TAG_const_type:
      case dw.DW_TAG_volatile_type:
      case dw.DW_TAG_restrict_type:
      case dw.DW_TAG_atomic_type:
        die = die.reference(dw.DW_AT_type);
        continue;
      default:
        return die;
    }
  return undefined;
}

/**
 * Returns the target of a pointer, owning pointers included: a type, "none" for void; undefined if the type
 * is no pointer.
 */
function pointee(type: Die | undefined): Verdict {
  const pointer = plainType(type);
  if (pointer?.tag === dw.DW_TAG_pointer_type) return plainType(pointer.reference(dw.DW_AT_type)) ?? "none";
  const isOwner = pointer !== undefined && /^(unique|shared)_ptr</.test(pointer.text(dw.DW_AT_name) ?? "");
  return isOwner ? ownedType(pointer) : undefined;
}

function ownedType(owner: Die): Verdict {
  for (const child of owner.children())
    if (child.tag === dw.DW_TAG_template_type_parameter) {
      const owned = plainType(child.reference(dw.DW_AT_type));
      return owned?.tag === dw.DW_TAG_array_type ? plainType(owned.reference(dw.DW_AT_type)) : owned;
    }
  return undefined;
}

function isStruct(type: Verdict): type is Die {
  return type instanceof Object && kindOfStruct(type) !== undefined;
}

/** Returns the class of a member function, by the type of `this`. */
function classOf(subroutine: Die): Die | undefined {
  for (const from of [originOf(subroutine), subroutine])
    for (const child of from.children()) {
      if (child.tag !== dw.DW_TAG_formal_parameter) continue;
      const isThis = child.inheritedText([dw.DW_AT_name]) === "this";
      const target = isThis ? pointee(typeOf(child)) : undefined;
      return isStruct(target) ? target : undefined;
    }
  return undefined;
}

function typeOf(die: Die): Die | undefined {
  return die.findInherited([dw.DW_AT_type])?.die.reference(dw.DW_AT_type);
}

function constructed(subroutine: Die): Die | undefined {
  const name = subroutine.inheritedText([dw.DW_AT_name]);
  if (name === undefined) return undefined;
  const type = classOf(subroutine);
  const typeName = type?.text(dw.DW_AT_name);
  return typeName !== undefined && typeName.replace(/<.*$/, "") === name.replace(/<.*$/, "")
    ? type
    : undefined;
}

/** Returns T of `std::allocator<T>::allocate`. */
function containerElement({ die }: Level): Verdict {
  if (die.inheritedText([dw.DW_AT_name]) !== "allocate") return undefined;
  const owner = classOf(die);
  if (owner === undefined || !/^allocator</.test(owner.text(dw.DW_AT_name) ?? "")) return undefined;
  for (const child of owner.children())
    if (child.tag === dw.DW_TAG_template_type_parameter) {
      const element = plainType(child.reference(dw.DW_AT_type));
      return isStruct(element) ? element : "none";
    }
  return undefined;
}

/**
 * Returns the target of a pointer declared on the level's line. Pointers to void are ignored. Structs of the
 * blocks' size precede structs that fit several times.
 */
function declaredOn(
  { die, line }: Level,
  fits: (type: Die) => boolean,
  isOne: (type: Die) => boolean,
): Verdict {
  if (line === 0) return undefined;
  const declared = pointersIn(die).filter((pointer) => pointer.line === line && pointer.target !== "none");
  const declaredWith = (are: (type: Die) => boolean) =>
    declared.filter(({ target }) => !isStruct(target) || are(target));
  const [first, ...furtherPointers] =
    [declaredWith(isOne), declaredWith(fits), declared].find(({ length }) => length > 0) ?? [];
  if (first === undefined) return undefined;
  const isClear =
    isStruct(first.target) && furtherPointers.every(({ target }) => isSame(target, first.target));
  return isClear ? first.target : "none";
}

function isSame(a: Verdict, b: Verdict): boolean {
  return a instanceof Object && b instanceof Object && a.offset === b.offset;
}

function pointersIn(subroutine: Die): { target: Verdict; line: number }[] {
  return variablesIn(subroutine).flatMap((variable) => {
    const target = pointee(typeOf(variable));
    if (target === undefined) return [];
    const isVariable = variable.tag === dw.DW_TAG_variable;
    const line = isVariable ? (variable.findInherited([dw.DW_AT_decl_line])?.value.value ?? 0) : 0;
    return [{ target, line }];
  });
}

function variablesIn(scope: Die, depth = 0): Die[] {
  if (depth > DEEPEST) return [];
  return [...scope.children()].flatMap((child) => {
    if (child.tag === dw.DW_TAG_lexical_block) return variablesIn(child, depth + 1);
    return child.tag === dw.DW_TAG_variable || child.tag === dw.DW_TAG_formal_parameter ? [child] : [];
  });
}

/** Pointer to a struct, found by following variables and members. */
interface HeldPointer {
  /** Distance from the address that leads to it; undefined if it varies. */
  readonly at: number | undefined;
  /** Size of the array of such pointers that begins at `at`; 1 for a single pointer. */
  readonly bytes: number;
  readonly target: Die;
}

/** Number of pointers followed: from a variable to its target, and from there to the next target. */
const FARTHEST = 2;

/**
 * Returns the pointers to structs that a value of a type is, contains, or leads to.
 *
 * @param at offset of the value
 */
function pointersFrom(type: Die | undefined, steps: number, at?: number, bytes = 1): HeldPointer[] {
  const plain = plainType(type);
  if (plain === undefined || steps > FARTHEST) return [];
  const target = isReference(plain) ? plainType(plain.reference(dw.DW_AT_type)) : pointee(plain);
  if (isStruct(target)) {
    const members = membersOf(target, steps + 1, 0);
    return isReference(plain) ? members : [{ at, bytes, target }, ...members];
  }
  if (target !== undefined && target !== "none") return pointersFrom(target, steps + 1, 0);
  if (plain.tag === dw.DW_TAG_array_type)
    return pointersFrom(plain.reference(dw.DW_AT_type), steps, at, typeSize(plain));
  return isStruct(plain) ? membersOf(plain, steps, at) : [];
}

function membersOf(struct: Die, steps: number, from: number | undefined): HeldPointer[] {
  if (steps > FARTHEST) return [];
  return [...memberEntries(struct)].flatMap(({ member, type }) =>
    pointersFrom(type, steps, from === undefined ? undefined : from + member.offset),
  );
}

function isReference({ tag }: Die): boolean {
  return tag === dw.DW_TAG_reference_type || tag === dw.DW_TAG_rvalue_reference_type;
}

function staticPointers(scope: Die, depth: number): HeldPointer[] {
  if (depth > DEEPEST) return [];
  return [...scope.children()].flatMap((child) => {
    if (child.tag === dw.DW_TAG_namespace) return staticPointers(child, depth + 1);
    if (child.tag !== dw.DW_TAG_variable) return [];
    const address = addressOf(child);
    return address === undefined ? [] : pointersFrom(typeOf(child), FARTHEST, address);
  });
}

function distinct(types: readonly Die[]): Die[] {
  const seen = new Set<string>();
  return types.filter((type) => {
    const key = `${type.text(dw.DW_AT_name) ?? type.offset} ${sizeOf(type)}`;
    return !seen.has(key) && seen.add(key);
  });
}

function* structsBelow(parent: Die, depth: number): Generator<Die> {
  if (depth > DEEPEST) return;
  for (const die of parent.children()) {
    const isScope = die.tag === dw.DW_TAG_namespace;
    const kind = kindOfStruct(die);
    if (kind !== undefined && kind !== "union" && die.find(dw.DW_AT_declaration) === undefined) yield die;
    if (isScope || kind !== undefined) yield* structsBelow(die, depth + 1);
  }
}

/** Returns the members. Members of inner structs and bases replace these; unions and arrays stay whole. */
function leafMembers(struct: Die, prefix: string, from: number, depth: number): BlockMember[] {
  const members: BlockMember[] = [];
  for (const { member, isBase, type } of memberEntries(struct)) {
    const inner = plainType(type);
    const offset = from + member.offset;
    const name = isBase || member.name === "" ? prefix : `${prefix}${member.name}`;
    const isInner =
      inner !== undefined && isStruct(inner) && kindOfStruct(inner) !== "union" && depth < DEEPEST;
    if (isInner) {
      const inside = leafMembers(inner, name === "" || isBase ? prefix : `${name}.`, offset, depth + 1);
      if (inside.length > 0 || isBase) {
        members.push(...inside);
        continue;
      }
    }
    const size =
      member.bitSize === undefined
        ? member.size
        : Math.ceil(((member.bitOffset ?? 0) % 8) / 8 + member.bitSize / 8);
    // An unnamed union gets the names of its members.
    const own = member.name !== "" || isBase || !isStruct(inner) ? name : namesWithin(inner, prefix, depth);
    if (size !== undefined && size > 0) members.push({ name: own, type: member.type, offset, size });
  }
  return members;
}

function namesWithin(union: Die, prefix: string, depth: number): string {
  if (depth >= DEEPEST) return prefix;
  return [...new Set(leafMembers(union, prefix, 0, depth + 1).map(({ name }) => name))].join(",");
}

/** Sorts members by offset, merges overlapping ones, and removes members beyond the struct. */
function merged(members: readonly BlockMember[], structSize: number): BlockMember[] {
  const result: BlockMember[] = [];
  for (const member of [...members].sort((a, b) => a.offset - b.offset || b.size - a.size)) {
    if (member.offset + member.size > structSize) continue;
    const last = result.at(-1);
    if (last === undefined || member.offset >= last.offset + last.size) {
      result.push(member);
      continue;
    }
    const end = Math.max(last.offset + last.size, member.offset + member.size);
    result[result.length - 1] = {
      ...last,
      name: `${last.name},${member.name}`,
      size: end - last.offset,
    };
  }
  return result;
}
