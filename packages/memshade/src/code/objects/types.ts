import type { FormatError } from "../../ground/bytes/errors.ts";
import type { PiecewiseBytes } from "../../ground/bytes/piecewise.ts";
import type { ObjectSymbol, SymbolTable } from "./symbol-table.ts";

/** "other": a machine of which nothing but the symbols and the debug information can be read. */
export type Architecture = "x86_64" | "i386" | "aarch64" | "wasm32" | "other";

/**
 * Decompresses one section. `size` is the number of bytes that must come out, as the file says; it has been checked
 * against what the method can reach at all. Throwing means that the bytes are damaged.
 */
export type Decompress = (compressed: Uint8Array, size: number) => Uint8Array;

/** What an object needs to read compressed sections; without it such sections count as absent. */
export interface Decompressors {
  /** zlib (RFC 1950) */
  readonly inflate?: Decompress;
  /** Zstandard (RFC 8878) */
  readonly zstd?: Decompress;
}

/** A section as the file describes it. For wasm, sections other than custom ones have the names of the specification. */
export interface ObjectSection {
  readonly name: string;
  /** Address in the object's own address space (SVMA); 0 for sections that are not loaded, and in wasm. */
  readonly address: number;
  /** Size in the file; for compressed sections that of the compressed bytes with their header. */
  readonly size: number;
  /** File offset of the content; in wasm, of the payload, behind a custom section's name. */
  readonly offset: number;
  /** `SHF_*` in ELF, 0 in wasm. */
  readonly flags: number;
  /** `SHT_*` in ELF, the section id in wasm. */
  readonly type: number;
  readonly compression?: "zlib" | "zstd";
}

/** A program header (ELF). Addresses are the object's own (SVMA). */
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

/** `.gnu_debuglink`: the file with the debug information, and the CRC-32 of its content. */
export interface DebugLink {
  readonly name: string;
  readonly crc32: number;
}

/** `.gnu_debugaltlink`: the file with debug information that several objects share (dwz), and its build id. */
export interface DebugAltLink {
  readonly name: string;
  readonly buildId: string;
}

/**
 * An executable, a library, an object file or a wasm module, read lazily and in place. Whatever the bytes are, no
 * member throws: what is damaged is absent, and `problems` says what was met so far.
 */
export interface ObjectFile {
  readonly kind: "elf" | "wasm";
  readonly architecture: Architecture;
  /** What the file is meant for; wasm modules count as executables. */
  readonly type: "executable" | "shared" | "relocatable" | "core";
  /** Bytes of an address: 4 or 8. */
  readonly addressSize: 4 | 8;
  /** Size of the file in bytes. */
  readonly size: number;
  /** Hexadecimal, as written in the file: the GNU build id note in ELF, the custom section `build_id` in wasm. */
  readonly buildId: string | undefined;
  /** All sections in file order, those without content too. */
  readonly sections: readonly ObjectSection[];
  /** All program headers in file order; empty in wasm. */
  readonly programHeaders: readonly ObjectSegment[];
  /** The loaded ones (`PT_LOAD`). */
  readonly segments: readonly ObjectSegment[];
  /**
   * Content of the first section of that name that has any, decompressed. Where nothing had to be decompressed it is a
   * view of the file. `.debug_*` also finds the old `.zdebug_*`; in relocatable objects its relocations are applied, all
   * sections taken to start at 0.
   */
  section(name: string): Uint8Array | undefined;
  /** As `section`, of large ones that are read in pieces; undefined where that is not possible, or there is none. */
  sectionInPieces(name: string): PiecewiseBytes | undefined;
  /** As `section`, of an entry of `sections`. */
  contentOf(section: ObjectSection): Uint8Array | undefined;
  /** Bytes of the file that are loaded at an address of the object; shorter where the file's part ends. */
  bytesAt(address: number, length: number): Uint8Array;
  /**
   * Symbols of functions and data by address: in ELF from `.symtab`, else `.dynsym`; in wasm the functions of the code
   * section by their offset from its start, named by the name section, exports and imports.
   */
  symbols(): SymbolTable;
  /** wasm: the entry of the code section around an address: its first byte, at which its size stands, and its length. */
  functionAt?(address: number): { readonly address: number; readonly size: number } | undefined;
  /**
   * `symbols().find(address)`; for the first few addresses without making the table.
   *
   * @param onlyGlobal whether local symbols are of no use: they may be left out then
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
  /** wasm: file offset where the payload of the code section starts; the origin of addresses in DWARF and symbols. */
  readonly codeOffset: number | undefined;
  /**
   * Relocatable ELF objects, where addresses of all sections start at 0: index of the section that the address which
   * stands at an offset of a `.debug_*` section lies in.
   */
  targetSection?(name: string, offset: number): number | undefined;
  /** Relocatable ELF objects: index of the first section of code that reaches as far as an address. */
  codeSectionAt?(address: number): number | undefined;
  /** What was found to be damaged so far. */
  readonly problems: readonly FormatError[];
}
