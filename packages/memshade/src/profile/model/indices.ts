declare const brand: unique symbol;

/** An index into one table; the brand keeps an index of one table from being used for another. */
type Index<Table extends string> = number & { readonly [brand]: Table };

export type IndexIntoStringTable = Index<"strings">;
export type IndexIntoModuleTable = Index<"modules">;
export type IndexIntoFunctionTable = Index<"functions">;
export type IndexIntoFrameTable = Index<"frames">;
export type IndexIntoStackTable = Index<"stacks">;
export type IndexIntoContextTable = Index<"contexts">;

/** "No such thing" in a column of indices: no parent, no name, no module. */
export type None = -1;
export const NONE: None = -1;

/** A typed array whose items are indices into one table, or {@link NONE} where the type says so. */
export interface Column<Value extends number> {
  readonly length: number;
  readonly [row: number]: Value;
  [Symbol.iterator](): Iterator<Value>;
}
