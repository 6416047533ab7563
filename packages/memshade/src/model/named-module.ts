import { count, list, optional, record, text } from "./check.ts";

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

export const namedModule = record<NamedModule>({
  index: count,
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
