const SYSTEM_ERRORS: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EEXIST: "it exists already",
  EISDIR: "it is a folder",
  ENOENT: "no such file or folder",
  ENOSPC: "no space left",
  ENOTDIR: "a part of the path is not a folder",
  EPERM: "not permitted",
  EROFS: "the file system is read-only",
};

/** A system error in a few words, without the path and the call that Node puts into its message. */
export function describeSystemError(error: unknown): string {
  const code = (error as { code?: string } | null)?.code;
  if (code !== undefined && code in SYSTEM_ERRORS) return SYSTEM_ERRORS[code];
  return error instanceof Error ? error.message : String(error);
}
