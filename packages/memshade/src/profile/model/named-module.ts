import { type Check, count, list, misfit, optional, record, text } from "./check.ts";

/** A module, as the files of tools name it. */
export interface NamedModule {
  /** The part of its places' addresses above 2^32, and the index into `modules` of run.json. */
  index: number;
  name: string;
  /** Hexadecimal build id, or the beginning of the SHA-256 of a module without one. */
  buildId: string;
  /** Size of the original module. */
  bytes?: number | undefined;
  /** Some functions that it exports, where no file is known to have it. */
  exports?: string[] | undefined;
}

/** Pages and exports have a list of the modules up to the last index. */
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

/** What is told of a module in the files of tools. */
export function namedModuleOf({ index, name, buildId, bytes, exports }: NamedModule): NamedModule {
  return {
    index,
    name,
    buildId,
    ...(bytes === undefined ? {} : { bytes }),
    ...(exports === undefined ? {} : { exports }),
  };
}

/** What occurs with several modules: the names of functions that say too little alone. */
export function ambiguousNames<Name>(names: Iterable<readonly [module: number, name: Name]>): Set<Name> {
  const owners = new Map<Name, number>();
  const ambiguous = new Set<Name>();
  for (const [module, name] of names) {
    if ((owners.get(name) ?? module) !== module) ambiguous.add(name);
    owners.set(name, module);
  }
  return ambiguous;
}
