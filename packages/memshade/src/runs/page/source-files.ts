import { realpathSync, statSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { extname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { attempt } from "../../ground/bytes/dispensable.ts";
import type { PathMap } from "../../names/symbolize/path-map.ts";
import type { ReadSource } from "../../show/report/page/data/sources.ts";
import { createSourceReader, moduleFolders, sourceCandidates } from "../source.ts";

/**
 * Extensions of source files. Paths come from modules, so a page that is sent to others must not include
 * other files.
 */
const SOURCE_EXTENSIONS = new Set(
  (
    "c cc cpp cxx c++ m mm h hh hpp hxx h++ ipp inl inc tcc tpp rs go zig swift d nim v odin kt kts java scala cs fs fsx dart " +
    "ts mts cts tsx js mjs cjs jsx as wat s asm f f90 f95 pas pp ml hs lisp scm py rb lua cr jl adb ads"
  ).split(" "),
);

/** Folders beside that of a built module in which projects keep their source. */
const SOURCE_FOLDERS = ["src", "source", "sources", "include", "lib"];

/**
 * Returns a reader of a program's source files for a page. It reads files below the working directory, the
 * modules' folders, the source folders beside those, the user's binary paths, and the folders of `--path-map`. For
 * privacy it reads no other file of this machine, because pages are sent to others.
 *
 * @param recordedAt milliseconds; later changes of a file are marked
 */
export function sourceFiles(
  maps: readonly PathMap[],
  recordedAt: number | undefined,
  binaryPaths: readonly string[] = [],
): ReadSource {
  const readLines = createSourceReader([]);
  const mapped = maps.map(({ to }) => to);
  return (file, module) => {
    const places = { modules: module === undefined ? [] : [module], binaryPaths };
    const folders = moduleFolders(places);
    const roots = [process.cwd(), ...folders, ...folders.flatMap(sourceFoldersBeside), ...mapped].flatMap(
      (root) => realPath(resolve(root)) ?? [],
    );
    for (const candidate of sourceCandidates(file, maps, places)) {
      const real = realPath(candidate);
      if (real === undefined || !isSource(real) || !roots.some((root) => isVisibleBelow(root, real)))
        continue;
      const lines = readLines(real);
      if (lines === undefined) continue;
      const isNewer = recordedAt !== undefined && statSync(real).mtimeMs > recordedAt;
      return { lines, ...(isNewer ? { isNewer } : {}) };
    }
    return undefined;
  };
}

/**
 * Returns the source folders beside a folder. Returns none if they would belong to other programs, as for a module in the
 * user's downloads.
 */
function sourceFoldersBeside(folder: string): string[] {
  const project = resolve(folder, "..");
  const isShared = [homedir(), tmpdir()].some((shared) => shared === project || isBelow(project, shared));
  return isShared ? [] : SOURCE_FOLDERS.map((name) => join(project, name));
}

function isBelow(root: string, path: string): boolean {
  const way = relative(root, path);
  return way !== "" && !isAbsolute(way) && way.split(sep)[0] !== "..";
}

function isSource(file: string): boolean {
  return SOURCE_EXTENSIONS.has(extname(file).slice(1).toLowerCase());
}

/** True if a file is below a folder, and no part of its path there is hidden. */
function isVisibleBelow(root: string, file: string): boolean {
  const path = relative(root, file);
  return path !== "" && !isAbsolute(path) && !path.split(sep).some((part) => part.startsWith("."));
}

function realPath(path: string): string | undefined {
  return attempt(() => realpathSync(path), undefined);
}
