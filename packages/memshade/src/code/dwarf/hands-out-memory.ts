import * as dw from "./constants.ts";
import type { Die } from "./die.ts";

const THIN: ReadonlySet<number> = new Set([dw.DW_TAG_typedef, dw.DW_TAG_const_type, dw.DW_TAG_volatile_type]);
const REFERENCES: ReadonlySet<number> = new Set([dw.DW_TAG_reference_type, dw.DW_TAG_rvalue_reference_type]);
const LONGEST_CHAIN = 64;
/** DW_ATE_signed_char, DW_ATE_unsigned_char, DW_ATE_UTF. */
const CHARACTERS: ReadonlySet<number> = new Set([0x06, 0x08, 0x10]);

/** Declared parameter; the object parameter of a member function is not included. */
interface Parameter {
  readonly die: Die;
  readonly type: Die | undefined;
}

/**
 * True if a function is declared to allocate memory for its caller, or to copy an argument; its caller then counts
 * as the allocation site. `subroutine` may be an inlined copy.
 *
 * - A parameter is a number, and another one points to a `void *` or the result is a `void *`.
 * - The result is a mutable string, and the function takes a `size_t`, or one string only, or several constant
 *   strings, each possibly with a length: `char *copy(const char *)`, `char *joined(const char *, const char *)`.
 * - The function is a copy constructor, a copy or move assignment, or a move constructor, written by hand or by the
 *   compiler.
 *
 * `byResult`: use the result's type too, which functions of other kinds may share.
 */
export function handsOutMemory(subroutine: Die, byResult: boolean): boolean {
  const origin = subroutine.reference(dw.DW_AT_abstract_origin) ?? subroutine;
  const declared = [...origin.children()]
    .filter(({ tag }) => tag === dw.DW_TAG_formal_parameter)
    .map(parameterOf);
  if (isCopy(origin, declared)) return true;
  const parameters = declared.filter(({ type }, i) => i > 0 || !isObject(origin, type));
  const result = byResult ? typeOf(origin) : undefined;
  const givesUntyped =
    isUntyped(result) ||
    parameters.some(({ type }) => type?.tag === dw.DW_TAG_pointer_type && isUntyped(typeOf(type)));
  if (givesUntyped && parameters.some(({ type }) => type?.tag === dw.DW_TAG_base_type)) return true;
  if (!isText(result) || isConstant(result)) return false;
  if (parameters.some(({ die }) => isSize(die))) return true;
  const isOnly = parameters.length === 1;
  return (
    parameters.length > 0 && parameters.every(({ type }) => isText(type) && (isOnly || isConstant(type)))
  );
}

function parameterOf(child: Die): Parameter {
  const die = child.reference(dw.DW_AT_abstract_origin) ?? child;
  return { die, type: typeOf(die) };
}

/** True for a member function that makes its object from another object of the same class. */
function isCopy(origin: Die, [object, other, ...more]: readonly Parameter[]): boolean {
  if (object?.type?.tag !== dw.DW_TAG_pointer_type || other?.type === undefined || more.length > 0)
    return false;
  if (!REFERENCES.has(other.type.tag)) return false;
  const [own, given] = [typeOf(object.type), typeOf(other.type)];
  if (own === undefined || own.offset !== given?.offset) return false;
  const name = origin.inheritedText([dw.DW_AT_name]);
  return (
    name === "operator=" || (name !== undefined && name === own.text(dw.DW_AT_name)?.replace(/<.*/s, ""))
  );
}

function isObject(origin: Die, type: Die | undefined): boolean {
  return (
    type?.tag === dw.DW_TAG_pointer_type && origin.findInherited([dw.DW_AT_object_pointer]) !== undefined
  );
}

function isUntyped(type: Die | undefined): boolean {
  return type?.tag === dw.DW_TAG_pointer_type && typeOf(type) === undefined;
}

function isText(type: Die | undefined): boolean {
  const pointee = type?.tag === dw.DW_TAG_pointer_type ? typeOf(type) : undefined;
  return pointee?.tag === dw.DW_TAG_base_type && CHARACTERS.has(pointee.find(dw.DW_AT_encoding)?.value ?? 0);
}

function isConstant(pointer: Die | undefined): boolean {
  return pointer !== undefined && chainOf(pointer).some(({ tag }) => tag === dw.DW_TAG_const_type);
}

function isSize(parameter: Die): boolean {
  return chainOf(parameter).some(
    (type) => type.tag === dw.DW_TAG_typedef && type.text(dw.DW_AT_name) === "size_t",
  );
}

/** Returns the type of an entry, with typedefs and qualifiers removed. */
function typeOf(die: Die): Die | undefined {
  const last = chainOf(die).at(-1);
  return last === undefined || THIN.has(last.tag) ? undefined : last;
}

function chainOf(die: Die): Die[] {
  const chain: Die[] = [];
  let type = die.findInherited([dw.DW_AT_type])?.die.reference(dw.DW_AT_type);
  while (type !== undefined && chain.length < LONGEST_CHAIN) {
    chain.push(type);
    type = THIN.has(type.tag) ? type.reference(dw.DW_AT_type) : undefined;
  }
  return chain;
}
