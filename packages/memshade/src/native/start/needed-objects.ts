import { spawnSync } from "node:child_process";
import { UserError } from "../../bytes/errors.ts";
import { kernelObject } from "../../load/kernel-object.ts";
import { loadObject } from "../../load/objects.ts";
import type { ObjectFile } from "../../objects/index.ts";
import type { NativeProgram } from "./check-program.ts";

/**
 * The objects that a program begins with: itself, the dynamic linker, and what that lists for it, and the kernel's. What the program
 * loads later is not among them.
 */
export function neededObjects({ file, object, linker }: NativeProgram): ObjectFile[] {
  const { stdout } = spawnSync(linker, ["--list", file], { encoding: "utf8" });
  const listed = [...(stdout ?? "").matchAll(/=> (\/.*) \(0x[0-9a-f]+\)$/gm)].map(([, path]) => path);
  const ofKernel = kernelObject();
  return [object, ...[linker, ...listed].flatMap(tryLoad), ...(ofKernel === undefined ? [] : [ofKernel])];
}

/** Whoever runs the program says what is wrong with a library. */
function tryLoad(path: string): ObjectFile[] {
  try {
    return [loadObject(path).object];
  } catch (error) {
    if (error instanceof UserError) return [];
    throw error;
  }
}
