/** Kinds of leaks, in memcheck's words. */
export type LeakKind = "definite" | "indirect" | "possible" | "reachable";
export const LEAK_KINDS: readonly LeakKind[] = ["definite", "indirect", "possible", "reachable"];

/** Pattern of one frame of a call path. In globs, `*` matches any characters and `?` one. */
export type FramePattern =
  | { readonly kind: "function"; readonly glob: string }
  | { readonly kind: "object"; readonly glob: string }
  | { readonly kind: "source"; readonly glob: string; readonly line?: number | undefined }
  | { readonly kind: "any" };

export interface Suppression {
  readonly name: string;
  /** Reason, in the words of its author. */
  readonly reason?: string | undefined;
  /** Position such as `leaks.supp:3`. */
  readonly place: string;
  readonly kinds: ReadonlySet<LeakKind>;
  /**
   * Patterns of the innermost frames of a call path, with or without the allocation function first; or a glob for a
   * part of a function, module or file name anywhere on the path.
   */
  readonly path: readonly FramePattern[] | string;
}

export interface Suppressed {
  readonly suppression: Suppression;
  readonly paths: number;
  readonly blocks: number;
  readonly bytes: number;
}
