declare const brand: unique symbol;

/** Index into one table; the brand prevents its use for another table. */
type Index<Table extends string> = number & { readonly [brand]: Table };

export type IndexIntoStringTable = Index<"strings">;
export type IndexIntoModuleTable = Index<"modules">;
export type IndexIntoFunctionTable = Index<"functions">;
export type IndexIntoFrameTable = Index<"frames">;
export type IndexIntoStackTable = Index<"stacks">;
export type IndexIntoContextTable = Index<"contexts">;

/** Value for "none" in a column of indices: no parent, no name, no module. */
export type None = -1;
export const NONE: None = -1;

/** Typed array whose items are indices into one table, or {@link NONE} if the type allows it. */
export interface Column<Value extends number> {
  readonly length: number;
  readonly [row: number]: Value;
  [Symbol.iterator](): Iterator<Value>;
}
