import type { FormatError } from "../../ground/bytes/errors.ts";
import type { PiecewiseBytes } from "../../ground/bytes/piecewise.ts";
import type { ObjectSymbol, SymbolTable } from "./symbol-table.ts";

/** Machine of an object. For "other", only the symbols and the debug information can be read. */
export type Architecture = "x86_64" | "i386" | "aarch64" | "wasm32" | "other";

/**
 * Decompresses one section. `size` is the decompressed size that the file claims; it does not exceed what the
 * method can reach. An exception means that the bytes are damaged.
 */
export type Decompress = (compressed: Uint8Array, size: number) => Uint8Array;

/** Decompressors of compressed sections. Without its decompressor, a section counts as absent. */
export interface Decompressors {
  /** zlib (RFC 1950) */
  readonly inflate?: Decompress;
  /** Zstandard (RFC 8878) */
  readonly zstd?: Decompress;
}

/**
 * Section as the file describes it. For wasm, sections other than custom ones have the names of the specification.
 */
export interface ObjectSection {
  readonly name: string;
  /** Address in the object's own address space (SVMA); 0 for sections that are not loaded, and in wasm. */
  readonly address: number;
  /** Size in the file; for compressed sections, of the compressed bytes with their header. */
  readonly size: number;
  /** File offset of the content; in wasm, of the payload after a custom section's name. */
  readonly offset: number;
  /** `SHF_*` in ELF, 0 in wasm. */
  readonly flags: number;
  /** `SHT_*` in ELF, the section id in wasm. */
  readonly type: number;
  readonly compression?: "zlib" | "zstd";
}

/** Program header (ELF). Addresses are the object's own (SVMA). */
export interface ObjectSegment {
  /** `PT_*` */
  readonly type: number;
  /** `PF_*`: 1 execute, 2 write, 4 read */
  readonly flags: number;
  readonly fileOffset: number;
  readonly address: number;
  readonly fileSize: number;
  readonly memorySize: number;
}

/** Content of `.gnu_debuglink`: the file with the debug information, and the CRC-32 of its content. */
export interface DebugLink {
  readonly name: string;
  readonly crc32: number;
}

/**
 * Content of `.gnu_debugaltlink`: the file with debug information shared by several objects (dwz), and its build
 * id.
 */
export interface DebugAltLink {
  readonly name: string;
  readonly buildId: string;
}

/**
 * Executable, library, object file or wasm module, read lazily and in place. No member throws, whatever the bytes
 * are. Damaged parts are absent, and `problems` lists the damage found so far.
 */
export interface ObjectFile {
  readonly kind: "elf" | "wasm";
  readonly architecture: Architecture;
  /** Type of the file; wasm modules count as executables. */
  readonly type: "executable" | "shared" | "relocatable" | "core";
  /** Bytes of an address. */
  readonly addressSize: 4 | 8;
  readonly size: number;
  /** Build id, hexadecimal: the GNU build id note in ELF, the custom section `build_id` in wasm. */
  readonly buildId: string | undefined;
  /** All sections in file order, including those without content. */
  readonly sections: readonly ObjectSection[];
  /** All program headers in file order; empty in wasm. */
  readonly programHeaders: readonly ObjectSegment[];
  /** Loaded segments (`PT_LOAD`). */
  readonly segments: readonly ObjectSegment[];
  /**
   * Returns the decompressed content of the first section of that name that has any; a view of the file if the
   * section is not compressed. `.debug_*` also finds the old `.zdebug_*`. In relocatable objects, relocations are
   * applied to it, with all sections starting at 0.
   */
  section(name: string): Uint8Array | undefined;
  /** Returns a large section that is read in pieces; undefined if there is none or it must be read as a whole. */
  sectionInPieces(name: string): PiecewiseBytes | undefined;
  /** Returns the content, like `section`, of an entry of `sections`. */
  contentOf(section: ObjectSection): Uint8Array | undefined;
  /** Returns the bytes of the file that are loaded at an address of the object; fewer if the file's part ends. */
  bytesAt(address: number, length: number): Uint8Array;
  /**
   * Returns the symbols of functions and data by address. ELF: from `.symtab`, else `.dynsym`. Wasm: the functions
   * of the code section by their offset from its start, named by the name section, exports and imports.
   */
  symbols(): SymbolTable;
  /**
   * Returns the code section's entry around an address (wasm): the address of its first byte, which begins the size
   * field, and its length.
   */
  functionAt?(address: number): { readonly address: number; readonly size: number } | undefined;
  /**
   * Returns `symbols().find(address)`. The first few lookups do not build the table.
   *
   * @param onlyGlobal true if local symbols may be left out
   */
  symbolAt(address: number, onlyGlobal?: boolean): ObjectSymbol | undefined;
  readonly debugLink: DebugLink | undefined;
  readonly debugAltLink: DebugAltLink | undefined;
  /** Content of `.gnu_debugdata`: an xz-compressed ELF object with further symbols. */
  readonly miniDebugInfo: Uint8Array | undefined;
  /** URL or path of the module with the debug information (wasm custom section `external_debug_info`). */
  readonly externalDebugInfo: string | undefined;
  /** URL of a source map (wasm custom section `sourceMappingURL`). */
  readonly sourceMappingUrl: string | undefined;
  /** File offset of the code section's payload (wasm): the origin of addresses in DWARF and symbols. */
  readonly codeOffset: number | undefined;
  /**
   * Returns the section index for the address at an offset of a `.debug_*` section. Only for relocatable ELF
   * objects, where the addresses of all sections start at 0.
   */
  targetSection?(name: string, offset: number): number | undefined;
  /**
   * Returns the index of the first code section that reaches as far as an address. Only for relocatable ELF
   * objects.
   */
  codeSectionAt?(address: number): number | undefined;
  /** Damage found so far. */
  readonly problems: readonly FormatError[];
}
