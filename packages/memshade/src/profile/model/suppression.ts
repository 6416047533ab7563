/** As memcheck names them. */
export type LeakKind = "definite" | "indirect" | "possible" | "reachable";
export const LEAK_KINDS: readonly LeakKind[] = ["definite", "indirect", "possible", "reachable"];

/** What one frame of a call path has to be. Globs: `*` stands for any characters, `?` for one. */
export type FramePattern =
  | { readonly kind: "function"; readonly glob: string }
  | { readonly kind: "object"; readonly glob: string }
  | { readonly kind: "source"; readonly glob: string; readonly line?: number | undefined }
  /** Any number of frames. */
  | { readonly kind: "any" };

/** Blocks that somebody does not want to be told of when they are lost. */
export interface Suppression {
  readonly name: string;
  /** Why, in the words of who wrote it. */
  readonly reason?: string | undefined;
  /** `leaks.supp:3` */
  readonly place: string;
  readonly kinds: ReadonlySet<LeakKind>;
  /**
   * The innermost frames of the call paths, with or without the allocation function in front; or a glob that a function, a module or a file
   * anywhere on them contains.
   */
  readonly path: readonly FramePattern[] | string;
}

/** What a suppression took out of a profile's leaks. */
export interface Suppressed {
  readonly suppression: Suppression;
  readonly paths: number;
  readonly blocks: number;
  readonly bytes: number;
}
