import { UserError } from "../../ground/bytes/errors.ts";
import { type Check, count, each, integer, list, oneOf, optional, parseVersioned, record } from "./check.ts";

/**
 * Retainers of the live blocks, `retainers.json`, version 1: groups of blocks by the way from a root to them, and the
 * pointers between groups. Names of roots and members are added when the file is read.
 */
export const RETAINERS_SCHEMA = "memshade-retainers";
export const RETAINERS_VERSION = 1;

export const RETAINERS_FILE = "retainers.json";

const ROOT_KINDS = ["static", "stack", "thread", "memory", "global", "kept", "lost", "beyond"] as const;

/**
 * Kind of a root. "static": static data of a module or object; "stack": a thread's stack; "thread": thread-local data;
 * "memory": other memory of the program; "global": a global of a module; "kept": no pointer, but the dynamic linker or
 * the system keeps the block; "lost": no pointer; "beyond": blocks and pointers that found no room in the tables.
 */
export type RootKind = (typeof ROOT_KINDS)[number];

export interface RetainerRoot {
  /** Row of the root. */
  row: number;
  /** Kind of the root. */
  kind: RootKind;
  /** Index in run.json of the module or object with the static data, or the global; absent for other kinds. */
  module?: number | undefined;
  /**
   * Address of the first pointer: in the memory of a module, or in the object. In thread-local data of the first thread,
   * the distance from its end, below 0. For a global, its index among those that may hold addresses.
   */
  address?: number | undefined;
}

export interface RetainersFile {
  /** Name and version of the format. */
  schema: typeof RETAINERS_SCHEMA;
  version: typeof RETAINERS_VERSION;
  /** Instances of modules; a native program is one. */
  instances: InstanceRows[];
}

export interface InstanceRows {
  /** Roots. The other rows are groups. */
  roots: RetainerRoot[];
  /** Row that holds a group on its way; −1 for a root. Rows come after their holders. */
  holders: number[];
  /** Calling context of the blocks, as its row in `heap.sites` of run.json; −1 for a root. */
  sites: number[];
  /** Blocks of the group, and their bytes. */
  blocks: number[];
  bytes: number[];
  /** Offset of a pointer to the group in a block of its holder; −1 if unknown. */
  offsets: number[];
  /** Pointers between rows: source, target, and number of pointers. */
  froms: number[];
  tos: number[];
  pointers: number[];
}

const integers: Check<number[]> = list(integer);
const counts: Check<number[]> = list(count);

const file = record<RetainersFile>({
  schema: oneOf(RETAINERS_SCHEMA),
  version: oneOf(RETAINERS_VERSION),
  instances: list(
    record<InstanceRows>({
      roots: list(
        record<RetainerRoot>({
          row: count,
          kind: oneOf(...ROOT_KINDS),
          module: optional(count),
          address: optional(integer),
        }),
      ),
      ...each(integers, "holders", "sites", "offsets"),
      ...each(counts, "blocks", "bytes", "froms", "tos", "pointers"),
    }),
  ),
});

/**
 * Reads the text of a `retainers.json`.
 *
 * @throws UserError with the mistake in one line, without the file's name
 */
export function readRetainers(json: string): RetainersFile {
  const read = file(
    parseVersioned(json, RETAINERS_SCHEMA, RETAINERS_VERSION, "does not tell of the retainers of a run"),
  );
  read.instances.forEach(checkRows);
  return read;
}

function checkRows(instance: InstanceRows, index: number): void {
  const { holders, froms, tos, roots } = instance;
  const fail = (member: string, expected: string): never => {
    throw new UserError(`instances[${index}].${member} should be ${expected}`);
  };
  for (const column of ["sites", "blocks", "bytes", "offsets"] as const)
    if (instance[column].length !== holders.length) fail(column, `${holders.length} values`);
  for (const column of ["tos", "pointers"] as const)
    if (instance[column].length !== froms.length) fail(column, `${froms.length} values`);
  holders.forEach((holder, row) => {
    if (holder < -1 || holder >= row) fail(`holders[${row}]`, "a row before it, or −1");
  });
  if (![...froms, ...tos].every((row) => row < holders.length)) fail("froms and tos", "rows");
  const isRoot = new Set(roots.map(({ row }) => row));
  if (holders.some((holder, row) => holder < 0 !== isRoot.has(row))) fail("roots", "the rows without holder");
}
