import { spawnSync } from "node:child_process";
import { realpathSync } from "node:fs";
import { resolve } from "node:path";
import { UserError } from "../../../ground/bytes/errors.ts";
import { kernelObject } from "../../../names/load/kernel-object.ts";
import { type LoadedObject, loadObject } from "../../../names/load/objects.ts";
import { programEnvironment } from "../../host/run/inherited.ts";
import type { NativeProgram } from "./check-program.ts";

/**
 * The objects that a program begins with: itself, the dynamic linker, and what that lists for it, and the kernel's. What the program
 * loads later is not among them.
 *
 * @throws UserError in one line where the dynamic linker would not start it: a library is missing, or is another version
 */
export function neededObjects({ file, object, linker }: NativeProgram): LoadedObject[] {
  // What lies beside a program lies beside its file, whatever links lead there.
  const real = realpathSync(file);
  const { stdout, stderr, status } = spawnSync(linker, ["--list", real], {
    encoding: "utf8",
    env: programEnvironment(),
  });
  const complaint = (stderr ?? "").split("\n").find((line) => line.startsWith(`${real}: `));
  if (status !== 0 && complaint !== undefined) throw new UserError(complaint);
  // What is preloaded comes first, and stands there as it was asked for.
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

/** Whoever runs the program says what is wrong with a library. */
function tryLoad(path: string): LoadedObject[] {
  try {
    return [loadObject(path)];
  } catch (error) {
    if (error instanceof UserError) return [];
    throw error;
  }
}
