import { type ObjectFile, openObject } from "../../code/objects/index.ts";
import {
  type EndReason,
  type Frame,
  Registers,
  Unwinder,
  type UnwindOptions,
  type UnwindTarget,
} from "../../code/unwind/index.ts";
import { entryOf } from "../../ground/bytes/entries.ts";
import { FormatError } from "../../ground/bytes/errors.ts";
import type { ProcessImage, ProcessThread } from "../../profile/model/process-image.ts";
import { MappedModule, NativeFile, type ObjectSource } from "./native-file.ts";

export interface ThreadStack {
  readonly thread: ProcessThread;
  readonly frames: readonly Frame[];
  readonly end: EndReason;
}

export interface ImageStacks {
  readonly image: ProcessImage;
  readonly target: UnwindTarget;
  readonly threads: readonly ThreadStack[];
  readonly files: readonly NativeFile[];
}

export function unwindImage(image: ProcessImage, objects: ObjectSource, options: UnwindOptions): ImageStacks {
  const signatureMask = image.pointerAuthenticationMask?.[1];
  const unwinder = new Unwinder(image.architecture, {
    ...options,
    ...(signatureMask === undefined ? {} : { signatureMask }),
  });
  const files = new Map<string, NativeFile>();
  for (const { path, buildId, start, end, fileOffset } of image.files) {
    const file = entryOf(files, path, () => {
      const inMemory = path === "[vdso]" ? objectInMemory(image, start, end) : undefined;
      return inMemory ? NativeFile.fromObject(path, inMemory) : new NativeFile(path, buildId, objects);
    });
    unwinder.modules.add(new MappedModule(file, start, end, fileOffset));
  }
  const readMemory = (address: number, length: number) => {
    const bytes = image.readMemory(address, length);
    return bytes.length === 0 ? fileBytes(unwinder, address, length) : bytes;
  };
  const threads = image.threads.map((thread): ThreadStack => {
    const { frames, end } = unwinder.unwind(registersOf(thread, unwinder.target), readMemory);
    return { thread, frames, end };
  });
  return { image, target: unwinder.target, threads, files: [...files.values()] };
}

/**
 * Address in the object at which to name a frame: in callers inside the call. A signal trampoline has no caller,
 * and is named at its own pc.
 */
export function addressToName({ kind, pc, lookupAddress, module }: Frame): number {
  return (kind === "signal" ? pc : lookupAddress) - (module?.bias ?? 0);
}

/** Dumps leave out memory that is also in files. */
function fileBytes(unwinder: Unwinder, address: number, length: number): Uint8Array {
  const module = unwinder.modules.find(address);
  return module?.readCode?.(address - module.bias, length) ?? new Uint8Array(0);
}

function registersOf({ registers }: ProcessThread, target: UnwindTarget): Registers {
  const values = new Registers(target);
  for (let register = 0; register < registers.length / 2; register++)
    values.setHalves(register, registers[2 * register]!, registers[2 * register + 1]!);
  return values;
}

/** The kernel's library exists only in the dump itself. */
function objectInMemory(image: ProcessImage, start: number, end: number): ObjectFile | undefined {
  const bytes = image.readMemory(start, end - start);
  try {
    return openObject(bytes);
  } catch (error) {
    if (error instanceof FormatError) return undefined;
    throw error;
  }
}
