/** Where a profile comes from. */
export interface ProfileOrigin {
  /** Number of profiles that were merged. */
  readonly inputs: number;
  /** Binaries whose addresses were symbolized, by build id. */
  readonly binaries: readonly { readonly buildId: string; readonly name: string }[];
  /** Build ids of modules that occur in the profiles and were not found. */
  readonly unmatched: readonly string[];
}
