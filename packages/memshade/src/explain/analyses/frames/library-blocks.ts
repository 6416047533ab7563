import type { HeapProfile } from "../../../profile/model/heap-profile.ts";
import { type IndexIntoStackTable, NONE } from "../../../profile/model/indices.ts";
import { isOfNativeProgram } from "../../../profile/model/known-fields.ts";
import type { NamedModule } from "../../../profile/model/named-module.ts";
import { MODULE_SPAN, type WasteIp } from "../../../profile/model/waste.ts";
import { C, libraryOf } from "./libraries.ts";

/** Functions of the C library that make a block for their caller. */
const GIVES =
  /(str|strn|wcs)dup|asprintf|getline|getdelim|realpath|canonicalize|getcwd|current_dir_name|scandir|tempnam|memstream/;
/** Functions of the C++ library whose blocks are its own. Most others allocate for objects of the program. */
const KEEPS =
  /\bstd::(__cxx11::)?(basic_filebuf|__basic_file|locale|ios_base|\w*(numpunct|moneypunct|timepunct|messages|ctype|codecvt|facet))|^__cxa_/;

const LINKER = "the dynamic linker";

/** Returns true for a call path of the waste tool that such a block has, as `libraryKeeps` does for the heap. */
export function libraryKeepsPath(ips: readonly WasteIp[], modules: readonly NamedModule[] = []): boolean {
  const libraryAt = ({ address }: WasteIp): string | undefined => {
    const module = modules.find(({ index }) => index === Math.floor(address / MODULE_SPAN));
    // The dynamic linker is never followed. Files of other tools name no modules.
    if (module === undefined) return modules.length === 0 ? undefined : LINKER;
    return libraryOf({ module: module.name });
  };
  const own = ips.findIndex((ip) => libraryAt(ip) === undefined);
  const inside = own < 0 ? ips : ips.slice(0, own);
  if (inside.length === 0 || own < 0) return inside.length > 0;
  const isKept = libraryAt(ips[0]!) === C || inside.some((ip) => KEEPS.test(ip.function ?? ""));
  return isKept && !GIVES.test(inside.at(-1)!.function ?? "");
}

const ofProfiles = new WeakMap<HeapProfile, (context: number) => boolean>();

/**
 * Returns a predicate for the contexts of a native program's blocks that the libraries of C and C++ allocate for
 * themselves: buffers of streams, locales, data of threads, tables of loaded objects. They are no mistakes of the program
 * as long as a pointer to them is left.
 */
export function libraryKeeps(profile: HeapProfile): (context: number) => boolean {
  let keeps = ofProfiles.get(profile);
  if (keeps === undefined) {
    keeps = isOfNativeProgram(profile) ? judge(profile) : () => false;
    ofProfiles.set(profile, keeps);
  }
  return keeps;
}

function judge({
  contexts,
  stacks,
  frames,
  functions,
  modules,
  strings,
}: HeapProfile): (context: number) => boolean {
  const libraries = modules.map(({ path, name, objectAddress }) =>
    objectAddress === undefined ? undefined : libraryOf({ module: path ?? name }),
  );
  const functionOf = (stack: IndexIntoStackTable) => frames.function[stacks.frame[stack]!]!;
  const libraryAt = (stack: IndexIntoStackTable): string | undefined =>
    libraries[functions.module[functionOf(stack)]!];
  const nameAt = (stack: IndexIntoStackTable): string => strings[functions.name[functionOf(stack)]!] ?? "";
  return (context) => {
    const innermost = contexts.stack[context]!;
    let isKept = innermost !== NONE && libraryAt(innermost) === C;
    let called = "";
    let stack = innermost;
    for (; stack !== NONE && libraryAt(stack) !== undefined; stack = stacks.prefix[stack]!) {
      called = nameAt(stack);
      isKept ||= KEEPS.test(called);
    }
    if (innermost === NONE || stack === innermost) return false;
    // Start-up code of a library allocates for itself, too.
    return stack === NONE || (isKept && !GIVES.test(called));
  };
}
