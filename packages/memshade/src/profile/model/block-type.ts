/** Evidence for the type of allocated blocks, the most reliable first. */
export type BlockTypeRule =
  | "constructor"
  | "container"
  | "variable"
  | "result"
  | "member"
  | "pointer"
  | "size";

export interface BlockMember {
  /**
   * Name of the member. Nested members have dotted names; bit fields that share bytes are one member, joined by commas.
   */
  readonly name: string;
  readonly type: string;
  readonly offset: number;
  readonly size: number;
}

/** Type of blocks: each block holds one struct, or an array of it. */
export interface BlockType {
  readonly name: string;
  readonly size: number;
  readonly by: BlockTypeRule;
  readonly members: readonly BlockMember[];
}
