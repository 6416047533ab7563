import type { Frame, Registers, UnwindTarget } from "../../code/unwind/index.ts";
import type { MissingFile, NativeFrame, NativeStacks } from "../../profile/model/native-stacks.ts";
import { addressToName, type ImageStacks } from "./image-stacks.ts";
import { type FrameNamer, withoutParameters } from "./names.ts";
import { MappedModule, type NativeFile } from "./native-file.ts";

/**
 * Returns the stacks of a dump with names.
 *
 * @param registers true if the values of registers are wanted, and the stacks were unwound with them
 */
export function nameImageStacks(
  { image, target, threads, files }: ImageStacks,
  namer: FrameNamer,
  { registers }: { readonly registers: boolean },
): NativeStacks {
  const shown = registers ? registerNames(target) : undefined;
  return {
    architecture: image.architecture,
    command: image.command,
    pid: image.pid,
    signal: image.signal,
    exception: image.exception,
    notes: image.gaps,
    threads: threads.map(({ thread: { lwp, name }, frames, end }) => ({
      lwp,
      name,
      frames: frames.map((frame) => nameFrame(frame, namer, shown)),
      end,
    })),
    missing: missingFiles(files),
  };
}

export function missingFiles(files: readonly NativeFile[]): MissingFile[] {
  return files.flatMap(({ path, buildId, missing: reason }) =>
    reason === undefined ? [] : [{ path, buildId, reason }],
  );
}

function nameFrame(frame: Frame, namer: FrameNamer, shown: readonly string[] | undefined): NativeFrame {
  const { pc, cfa, kind, foundBy } = frame;
  const module = frame.module instanceof MappedModule ? frame.module : undefined;
  const address = addressToName(frame);
  const named = module && namer.name(module.file, address);
  return {
    pc,
    cfa,
    kind,
    foundBy,
    module: module?.name,
    functions: (named?.frames ?? []).map(({ function: name, file, line, inlined }) => ({
      function: name && withoutParameters(name),
      file,
      line,
      inlined,
    })),
    symbol: named?.symbol && {
      name: namer.demangle(named.symbol.name),
      offset: pc - module!.bias - address + named.symbol.offset,
    },
    registers: shown && valuesOf(frame.registers, shown),
  };
}

function valuesOf(registers: Registers | undefined, shown: readonly string[]): Record<string, bigint> {
  const values = registers?.toObject() ?? {};
  return Object.fromEntries(
    shown.filter((name) => values[name] !== undefined).map((name) => [name, values[name]!]),
  );
}

/**
 * Returns callee-saved registers and the stack pointer, by name in the order of their DWARF numbers. These
 * are known in every frame.
 */
export function registerNames(target: UnwindTarget): string[] {
  return [...target.calleeSaved, target.stackPointer]
    .sort((a, b) => a - b)
    .map((register) => target.registerNames[register]!);
}
