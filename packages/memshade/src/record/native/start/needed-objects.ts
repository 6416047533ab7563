import { spawnSync } from "node:child_process";
import { realpathSync } from "node:fs";
import { resolve } from "node:path";
import { UserError } from "../../../ground/bytes/errors.ts";
import { kernelObject } from "../../../names/load/kernel-object.ts";
import { type LoadedObject, loadObject } from "../../../names/load/objects.ts";
import { programEnvironment } from "../../host/run/inherited.ts";
import type { NativeProgram } from "./check-program.ts";

/**
 * Returns the initial objects of a program: itself, the dynamic linker, the libraries that it lists, and the
 * kernel's object. Objects that the program loads later are not included.
 * @throws UserError if the dynamic linker would not start the program: a library or a version is missing
 */
export function neededObjects({ file, object, linker }: NativeProgram): LoadedObject[] {
  // Libraries beside a program are found relative to its real file.
  const real = realpathSync(file);
  const { stdout, stderr, status } = spawnSync(linker, ["--list", real], {
    encoding: "utf8",
    env: programEnvironment(),
  });
  const complaint = (stderr ?? "").split("\n").find((line) => line.startsWith(`${real}: `));
  if (status !== 0 && complaint !== undefined) throw new UserError(complaint);
  // Preloaded objects come first, listed by the path in LD_PRELOAD.
  const listed = [...(stdout ?? "").matchAll(/^\t(?:.* => )?(.*\/.*) \(0x[0-9a-f]+\)$/gm)].map(([, path]) =>
    // Folders of LD_LIBRARY_PATH may be relative.
    resolve(path),
  );
  const files = [...new Set([linker, ...listed])].flatMap(tryLoad);
  const ofKernel = kernelObject();
  return [
    { path: file, object },
    ...files,
    ...(ofKernel === undefined ? [] : [{ path: "[kernel]", object: ofKernel }]),
  ];
}

/** Ignores a damaged library: the dynamic linker will report it. */
function tryLoad(path: string): LoadedObject[] {
  try {
    return [loadObject(path)];
  } catch (error) {
    if (error instanceof UserError) return [];
    throw error;
  }
}
