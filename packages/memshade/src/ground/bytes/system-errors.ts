const SYSTEM_ERRORS: Readonly<Record<string, string>> = {
  E2BIG: "arguments and variables are too long together",
  EACCES: "permission denied",
  EBUSY: "it is in use",
  EDQUOT: "the disk quota is used up",
  EEXIST: "it exists already",
  EFBIG: "a file may not become so large",
  EIO: "the disk failed",
  EISDIR: "it is a folder",
  ELOOP: "links lead in a circle",
  EMFILE: "too many files are open",
  ENAMETOOLONG: "the name is too long",
  ENOENT: "no such file or folder",
  ENOSPC: "no space left",
  ENXIO: "it is a socket, or nobody is at the other end",
  ENOTDIR: "a part of the path is not a folder",
  EPERM: "not permitted",
  EROFS: "the file system is read-only",
};

/** Describes a system error in a few words, without the path and the call in Node's message. */
export function describeSystemError(error: unknown): string {
  const code = (error as { code?: string } | null)?.code;
  if (code !== undefined && code in SYSTEM_ERRORS) return SYSTEM_ERRORS[code];
  return error instanceof Error ? error.message : String(error);
}
