import { existsSync, lstatSync, readdirSync, realpathSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

const [GROUP_WRITES, OTHERS_WRITE, STICKY] = [0o020, 0o002, 0o1000];
const ROOT = 0;
const ACCESS_OF_OTHERS = 0o077;

/**
 * Permissions of cached files. A umask such as 002 would make them writable to a group, and `isOwn` would refuse them.
 */
export const KEPT_MODE = 0o644;

/**
 * True if a file or folder exists, belongs to this user, and is not writable to others. The target of a link must be
 * too.
 */
export function isOwn(path: string): boolean {
  const status = lstatSync(path, { throwIfNoEntry: false });
  if (status === undefined || !isUsers(status.uid)) return false;
  if (status.isSymbolicLink()) return existsSync(path) && isOwn(realpathSync(path)) && isSafelyPlaced(path);
  return (status.mode & (GROUP_WRITES | OTHERS_WRITE)) === 0;
}

/**
 * True if everything in a folder of this user is the user's own. If no other user can enter the folder, permissions
 * inside it, which follow the umask, do not matter.
 */
export function isContentOwn(folder: string): boolean {
  const isClosed = (lstatSync(folder).mode & ACCESS_OF_OTHERS) === 0;
  const names = readdirSync(folder, { recursive: true }) as string[];
  return names.every((name) => {
    const path = join(folder, name);
    return isClosed ? isUsers(lstatSync(path).uid) : isOwn(path);
  });
}

/**
 * True if only this user and root can replace `folder` or one of its parents. The folders must belong to the two.
 * Others must not be able to write there, or to remove our entries, as in /tmp. Missing folders are left out.
 */
export function isSafelyPlaced(folder: string): boolean {
  let path = resolve(folder);
  while (!existsSync(path)) path = dirname(path);
  for (path = realpathSync(path); ; path = dirname(path)) {
    const { uid, mode } = lstatSync(path);
    if (!isUsers(uid) && uid !== ROOT) return false;
    if ((mode & OTHERS_WRITE) !== 0 && (mode & STICKY) === 0) return false;
    if (dirname(path) === path) return true;
  }
}

/** True if another user has created a file or folder in a place where all can write, as in /tmp. */
export function isPlanted(path: string): boolean {
  const [status, above] = [path, dirname(path)].map((entry) => lstatSync(entry, { throwIfNoEntry: false }));
  if (status === undefined || above === undefined || isUsers(status.uid) || status.uid === ROOT) return false;
  return (above.mode & OTHERS_WRITE) !== 0;
}

/** Systems without user ids have no other users. */
function isUsers(uid: number): boolean {
  return process.geteuid === undefined || uid === process.geteuid();
}
