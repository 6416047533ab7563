import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { mapPath, type PathMap } from "../../names/symbolize/path-map.ts";

/**
 * How recorded paths are called in the repository around a folder, with slashes: what lies in it by its path from there, also where
 * it was built under another folder, and everything else as it was recorded.
 *
 * @param besides folders that relative paths may count from, such as those of modules
 */
export function repositoryPaths(
  folder: string,
  maps: readonly PathMap[] = [],
  besides: readonly string[] = [],
): (file: string) => string {
  const root = repositoryAround(folder);
  const known = new Map<string, string>();
  return (file) => {
    let found = known.get(file);
    if (found === undefined) {
      found = locate(mapPath(plainPath(file), maps), [folder, ...besides], root);
      known.set(file, found);
    }
    return found;
  };
}

function plainPath(file: string): string {
  try {
    return file.startsWith("file://") ? fileURLToPath(file) : file;
  } catch {
    return file;
  }
}

function locate(file: string, folders: readonly string[], root: string): string {
  for (const folder of folders) {
    const here = inside(root, path.resolve(folder, file));
    if (here !== undefined) return here;
  }
  // Built elsewhere: the longest end of the path, with a folder in it, that is in the repository.
  const parts = file.split(/[\\/]/).filter((part) => part !== "" && part !== ".");
  for (let start = 0; start < parts.length - 1; start++) {
    const end = inside(root, path.join(root, ...parts.slice(start)));
    if (end !== undefined) return end;
  }
  return path.posix.normalize(file.replaceAll("\\", "/"));
}

/** A file that is there by its path from the root; undefined if it is not there, or not below it. */
function inside(root: string, file: string): string | undefined {
  try {
    const relative = path.relative(root, fs.realpathSync(file));
    const isOutside = relative.startsWith("..") || path.isAbsolute(relative);
    return isOutside || !fs.statSync(file).isFile() ? undefined : relative.split(path.sep).join("/");
  } catch {
    return undefined;
  }
}

/** The closest folder with a repository, or the folder itself. */
function repositoryAround(folder: string): string {
  const start = fs.realpathSync(folder);
  for (let at = start; ; at = path.dirname(at)) {
    if (fs.existsSync(path.join(at, ".git"))) return at;
    if (path.dirname(at) === at) return start;
  }
}
