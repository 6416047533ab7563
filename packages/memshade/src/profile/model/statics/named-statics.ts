import type { StaticsFile } from "./statics.ts";

/** A variable with an address of its own, as debug information describes it. */
export interface StaticVariable {
  readonly address: number;
  /** Undefined where its type does not say it. */
  readonly bytes: number | undefined;
  /** As in the source, with its namespaces or the function that it is in; undefined for literals. */
  readonly name: string | undefined;
  /** The linker's name, where that is another one. */
  readonly linkageName: string | undefined;
  readonly file: string | undefined;
  /** 0 where it is not known. */
  readonly line: number;
}

/** What was recorded of a run's static data, with what debug information knows of it. */
export interface NamedStatics {
  readonly file: StaticsFile;
  /** By index of the module; modules without debug information have none. */
  readonly variables: ReadonlyMap<number, readonly StaticVariable[]>;
  /** Names of the run's modules, by index. */
  readonly modules: readonly string[];
}
