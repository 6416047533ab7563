export interface ProfileOrigin {
  readonly inputs: number;
  readonly binaries: readonly { readonly buildId: string; readonly name: string }[];
  /** Build ids of modules that occur in the profiles and were not found. */
  readonly unmatched: readonly string[];
}
