/** Origin of a profile. */
export interface ProfileOrigin {
  readonly inputs: number;
  /** Binaries whose addresses were symbolized. */
  readonly binaries: readonly { readonly buildId: string; readonly name: string }[];
  /** Build ids of modules that occur in the profiles and were not found. */
  readonly unmatched: readonly string[];
}
