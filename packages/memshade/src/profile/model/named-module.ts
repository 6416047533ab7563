import { type Check, count, list, misfit, optional, record, text } from "./check.ts";

export interface NamedModule {
  /** Index into `modules` of run.json, which is also the part above 2^32 of addresses in the module. */
  index: number;
  /** Name of the module, as in run.json. */
  name: string;
  /** Hexadecimal build id, or the beginning of the SHA-256 of a module without one. */
  buildId: string;
  /** Size of the module. */
  bytes?: number | undefined;
  /** Some functions that the module exports, if no file is known to contain it. */
  exports?: string[] | undefined;
}

/** Bound on the index: pages and exports have a list of the modules up to the last index. */
const MOST_MODULES = 1 << 16;

const moduleIndex: Check<number> = (value) => {
  const index = count(value);
  return index < MOST_MODULES ? index : misfit(`should be below ${MOST_MODULES}, but is ${index}`);
};

export const namedModule = record<NamedModule>({
  index: moduleIndex,
  name: text,
  buildId: text,
  bytes: optional(count),
  exports: optional(list(text)),
});

export function namedModuleOf({ index, name, buildId, bytes, exports }: NamedModule): NamedModule {
  return {
    index,
    name,
    buildId,
    ...(bytes === undefined ? {} : { bytes }),
    ...(exports === undefined ? {} : { exports }),
  };
}

/** Returns the names that occur in several modules, and are ambiguous without the module. */
export function ambiguousNames<Name>(names: Iterable<readonly [module: number, name: Name]>): Set<Name> {
  const owners = new Map<Name, number>();
  const ambiguous = new Set<Name>();
  for (const [module, name] of names) {
    if ((owners.get(name) ?? module) !== module) ambiguous.add(name);
    owners.set(name, module);
  }
  return ambiguous;
}
