import { existsSync, lstatSync, readdirSync, realpathSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

const [GROUP_WRITES, OTHERS_WRITE, STICKY] = [0o020, 0o002, 0o1000];
const ROOT = 0;
const ACCESS_OF_OTHERS = 0o077;

/** Permissions of files that are kept: with a umask such as 002, they would be writable to a group, and `isOwn` would refuse them. */
export const KEPT_MODE = 0o644;

/** Whether there is a file or folder that belongs to this user, and that nobody else may write to. Of a link this is true of what it leads to, too. */
export function isOwn(path: string): boolean {
  const status = lstatSync(path, { throwIfNoEntry: false });
  if (status === undefined || !isUsers(status.uid)) return false;
  if (status.isSymbolicLink()) return existsSync(path) && isOwn(realpathSync(path)) && isSafelyPlaced(path);
  return (status.mode & (GROUP_WRITES | OTHERS_WRITE)) === 0;
}

/**
 * Whether everything in a folder of this user is the user's own. Where nobody else can enter the folder, permissions inside it, which
 * follow the umask, do not matter.
 */
export function isContentOwn(folder: string): boolean {
  const isClosed = (lstatSync(folder).mode & ACCESS_OF_OTHERS) === 0;
  const inside = readdirSync(folder, { recursive: true }) as string[];
  return inside.every((name) => {
    const path = join(folder, name);
    return isClosed ? isUsers(lstatSync(path).uid) : isOwn(path);
  });
}

/**
 * Whether nobody but this user and root can put another folder in the place of `folder`, or of one above it: these belong to the two,
 * and others write there where they may take away nothing of ours, as in /tmp, or not at all. What is not there yet is left out.
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

/** Whether somebody else has made a file or folder where everybody can, as in /tmp. */
export function isPlanted(path: string): boolean {
  const [status, above] = [path, dirname(path)].map((one) => lstatSync(one, { throwIfNoEntry: false }));
  if (status === undefined || above === undefined || isUsers(status.uid) || status.uid === ROOT) return false;
  return (above.mode & OTHERS_WRITE) !== 0;
}

/** Systems without users have none that could do harm. */
function isUsers(uid: number): boolean {
  return process.geteuid === undefined || uid === process.geteuid();
}
