/** How the type of allocated blocks was found, the surest way first. */
export type BlockTypeRule =
  | "constructor"
  | "container"
  | "variable"
  | "result"
  | "member"
  | "pointer"
  | "size";

export interface BlockMember {
  /** Members of members have names with dots; bit fields that share bytes are one, joined by commas. */
  readonly name: string;
  readonly type: string;
  readonly offset: number;
  readonly size: number;
}

/** What blocks hold: one struct, or several one behind the other. */
export interface BlockType {
  readonly name: string;
  readonly size: number;
  readonly by: BlockTypeRule;
  readonly members: readonly BlockMember[];
}
