export interface UnwindOptions {
  /** Frames of a stack at most; 100,000 if not given. */
  readonly maxFrames?: number;
  /** Gives each frame its registers. */
  readonly registers?: boolean;
  /** Follows frame pointers where there is no call frame information; true if not given. */
  readonly framePointers?: boolean;
  /** Where nothing else leads on, takes the next word on the stack that looks like a return address; x86-64 only. */
  readonly scan?: boolean;
  /**
   * Bits of a signed return address that are its signature, shifted right by 32 (AArch64; a core's `NT_ARM_PAC_MASK`).
   * All above the 48 of a user address if not given.
   */
  readonly signatureMask?: number;
}
