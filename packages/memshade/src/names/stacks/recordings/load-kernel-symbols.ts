import { homedir } from "node:os";
import { join } from "node:path";
import { readNotes } from "../../../code/objects/index.ts";
import { readRegular } from "../../load/file.ts";
import { KernelSymbols, type KernelText } from "./kallsyms.ts";

const NT_GNU_BUILD_ID = 3;

/**
 * The symbols of the kernel with a build id: those that `perf record` put aside, or those of the running system if it is
 * the same kernel. Undefined if they are not at hand, or hidden from this user.
 */
export function loadKernelSymbols(
  buildId: string | undefined,
  reference: KernelText | undefined,
): KernelSymbols | undefined {
  if (buildId === undefined) return undefined;
  const cache = process.env.PERF_BUILDID_DIR ?? join(homedir(), ".debug");
  const places = [
    join(cache, ".build-id", buildId.slice(0, 2), buildId.slice(2), "kallsyms"),
    join(cache, "[kernel.kallsyms]", buildId, "kallsyms"),
  ];
  if (buildIdOfRunningKernel() === buildId) places.push("/proc/kallsyms");
  for (const place of places) {
    const text = contentOf(place);
    const symbols = text === undefined ? undefined : KernelSymbols.parse(text, reference);
    if (symbols !== undefined) return symbols;
  }
  return undefined;
}

function buildIdOfRunningKernel(): string | undefined {
  const notes = contentOf("/sys/kernel/notes");
  if (notes === undefined) return undefined;
  for (const { owner, type, content } of readNotes(notes))
    if (owner === "GNU" && type === NT_GNU_BUILD_ID) return Buffer.from(content).toString("hex");
  return undefined;
}

function contentOf(path: string): Buffer | undefined {
  try {
    return readRegular(path);
  } catch {
    return undefined;
  }
}
