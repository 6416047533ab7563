/** Names of the sections that hold debug information. */
export type DebugSectionName =
  | ".debug_info"
  | ".debug_abbrev"
  | ".debug_line"
  | ".debug_str"
  | ".debug_line_str"
  | ".debug_str_offsets"
  | ".debug_addr"
  | ".debug_ranges"
  | ".debug_rnglists"
  | ".debug_aranges";

/** Where debug information comes from: an object, its parts for split units, a test. */
export interface DebugSections {
  /** Content, decompressed; undefined where there is none. */
  section(name: DebugSectionName): Uint8Array | undefined;
}

/** A split unit's file, as its skeleton names it. */
export interface SplitRequest {
  /** Path of the `.dwo` as the compiler was told, relative to `directory` if it is relative. */
  readonly name: string;
  readonly directory: string;
  /** 64 bits, hexadecimal. */
  readonly id: string;
}

/** Finds the sections of a split unit; undefined if its file is not there (yet). */
export type SplitLoader = (request: SplitRequest) => DebugSections | undefined;
