import * as dw from "./constants.ts";
import type { Die } from "./die.ts";

/** Types that only name or qualify others. */
const THIN: ReadonlySet<number> = new Set([dw.DW_TAG_typedef, dw.DW_TAG_const_type, dw.DW_TAG_volatile_type]);
const REFERENCES: ReadonlySet<number> = new Set([dw.DW_TAG_reference_type, dw.DW_TAG_rvalue_reference_type]);
const LONGEST_CHAIN = 64;
/** DW_ATE_signed_char, DW_ATE_unsigned_char, DW_ATE_UTF. */
const CHARACTERS: ReadonlySet<number> = new Set([0x06, 0x08, 0x10]);

/** A declared parameter, without the object that a member function is called for. */
interface Parameter {
  readonly die: Die;
  readonly type: Die | undefined;
}

/**
 * Whether a function is declared to give memory to whoever says how much, or a copy of what it is given: who calls it is who asked.
 * `subroutine` may be a copy that was inlined.
 *
 * - A parameter is a number, another one points to a `void *`, or that is what it returns.
 * - It returns a text that may be changed, and takes a `size_t`, or one text and nothing else, or several that it does not change, a stretch
 *   of one too: `char *copy(const char *)`, `char *joined(const char *, const char *)`.
 * - It is a copy constructor, a copy assignment, or one that moves, written by hand or by the compiler.
 *
 * `byResult`: whether to believe the type of the result, which functions of other kinds have, too.
 */
export function handsOutMemory(subroutine: Die, byResult: boolean): boolean {
  const origin = subroutine.reference(dw.DW_AT_abstract_origin) ?? subroutine;
  const all = [...origin.children()].filter(({ tag }) => tag === dw.DW_TAG_formal_parameter).map(parameterOf);
  if (isCopy(origin, all)) return true;
  const parameters = all.filter(({ type }, i) => i > 0 || !isObject(origin, type));
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

/** Whether a member function makes an object of its class like another one that it is given. */
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

/** Whether a type is `void *`. */
function isUntyped(type: Die | undefined): boolean {
  return type?.tag === dw.DW_TAG_pointer_type && typeOf(type) === undefined;
}

/** Whether a type is a pointer to characters, constant or not. */
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

/** The type of an entry, without what only names or qualifies it. */
function typeOf(die: Die): Die | undefined {
  const last = chainOf(die).at(-1);
  return last === undefined || THIN.has(last.tag) ? undefined : last;
}

/** The type of an entry, behind those that only name or qualify it. */
function chainOf(die: Die): Die[] {
  const chain: Die[] = [];
  let type = die.findInherited([dw.DW_AT_type])?.die.reference(dw.DW_AT_type);
  while (type !== undefined && chain.length < LONGEST_CHAIN) {
    chain.push(type);
    type = THIN.has(type.tag) ? type.reference(dw.DW_AT_type) : undefined;
  }
  return chain;
}
