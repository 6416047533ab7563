/** Section with call frame information, and the bases of its pointers. */
export interface CfiSection {
  readonly kind: "eh_frame" | "debug_frame";
  readonly bytes: Uint8Array;
  /** Address of the first byte in the object's own address space (SVMA). */
  readonly address: number;
  readonly addressSize: 4 | 8;
  /** Start of `.text` (SVMA), for pointers relative to it. */
  readonly textAddress?: number | undefined;
  /** Start of `.got` (SVMA), for pointers relative to data; in `.eh_frame_hdr`, its own start. */
  readonly dataAddress?: number | undefined;
  /** Offset after which the first terminator ends the section, if its size is unknown. */
  readonly terminatedAfter?: number | undefined;
  /** Reads the address-sized word at an address of the object, for indirect pointers. */
  readonly readPointer?: ((address: number) => number | undefined) | undefined;
}
