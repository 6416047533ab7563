import type { ReadInstructions } from "../../report/page/data/instructions.ts";
import { runAround } from "../run-of-folder.ts";
import { type ModuleCode, type OriginalPlaces, RunSymbols } from "../run-symbols.ts";

/** Reads the instructions of the modules of a run, which a page shows beside source lines. */
export function runInstructions(input: string, places: OriginalPlaces): ReadInstructions {
  const modules = runAround(input)?.modules ?? [];
  const symbols = new RunSymbols(places);
  const known = new Map<number, ModuleCode | undefined>();
  return (index, address) => {
    const module = modules[index];
    if (module === undefined) return [];
    if (!known.has(index)) known.set(index, symbols.codeOf(module));
    const code = known.get(index);
    return (code?.around(address) ?? []).map((instruction) => {
      const [place] = code!.frames(instruction.address);
      return { ...instruction, file: place?.file, line: place?.line ?? 0 };
    });
  };
}
