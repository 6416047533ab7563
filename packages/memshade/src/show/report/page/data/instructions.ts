import type { PageCode, PageData } from "./page-data.ts";
import type { MeasuredLine } from "./sources.ts";

/** An instruction, by its offset in the code section, and the line that it is of, from 1; 0: none. */
export interface PlacedInstruction {
  readonly address: number;
  readonly text: string;
  readonly file: string | undefined;
  readonly line: number;
}

/** The instructions of the function around an address of a module of the page; none where they are not known. */
export type ReadInstructions = (module: number, address: number) => readonly PlacedInstruction[];

/** Lines of which instructions are kept: those of findings first, then those with the largest part of anything. */
const MOST_LINES = 200;
/** Instructions that are looked at, so that a page of large functions is not waited for. */
const MOST_READ = 50_000;
/** Instructions of one line that are kept. */
const MOST_OF_LINE = 64;

/** The instructions of measured lines, in the functions where they were measured. */
export function pageInstructions(
  page: PageData,
  measured: readonly MeasuredLine[],
  read: ReadInstructions,
): readonly PageCode[] {
  const { frames } = page;
  const lines = measured.slice(0, MOST_LINES);
  const wanted = new Map(lines.map((line) => [keyOf(line), [] as number[]]));
  for (let frame = 0; frame < frames.length; frame++) {
    const file = page.strings[frames.file[frame]!];
    if (file !== undefined && frames.address[frame]! >= 0 && frames.module[frame]! >= 0)
      wanted.get(keyOf({ file, line: frames.line[frame]! }))?.push(frame);
  }
  const found = new Map<string, Map<number, string>>();
  const told = new Set<string>();
  let left = MOST_READ;
  for (const of of wanted.values())
    for (const frame of of) {
      if (left <= 0) break;
      const module = frames.module[frame]!;
      if (told.has(`${module} ${frames.address[frame]}`)) continue;
      const instructions = read(module, frames.address[frame]!);
      left -= instructions.length;
      for (const { address, text, file, line } of instructions) {
        told.add(`${module} ${address}`);
        const key = file === undefined ? undefined : keyOf({ file, line });
        if (key === undefined || !wanted.has(key)) continue;
        const known = found.get(key) ?? new Map<number, string>();
        found.set(key, known.set(address, text));
      }
    }
  return lines.flatMap(({ file, line }): PageCode[] => {
    const code = [...(found.get(keyOf({ file, line })) ?? [])].sort(([one], [other]) => one - other);
    if (code.length === 0) return [];
    const shown = code.slice(0, MOST_OF_LINE);
    return [
      {
        file: page.strings.indexOf(file),
        line,
        address: Int32Array.from(shown, ([address]) => address),
        text: shown.map(([, text]) => text),
        ...(shown.length < code.length ? { more: code.length - shown.length } : {}),
      },
    ];
  });
}

function keyOf({ file, line }: Pick<MeasuredLine, "file" | "line">): string {
  return `${line} ${file}`;
}
