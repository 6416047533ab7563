import { entryOf } from "../../../../ground/bytes/entries.ts";
import { FRAME_FLAGS, type PageData, type PageSource } from "./page-data.ts";

/** Extent of source text in a page: whole files, some lines around each measured one, or none. */
export type SourcesKept = PageData["sourcesKept"];

/**
 * Reads a source file; undefined if it does not exist or cannot be read. `module`: path of the module that
 * names the file.
 */
export type ReadSource = (
  file: string,
  module: string | undefined,
) => { readonly lines: readonly string[]; readonly isNewer?: boolean | undefined } | undefined;

/** Lines before and after a measured one. */
const AROUND = 3;
/**
 * Most measured lines whose text is stored: lines of findings first, then those with the largest share of any
 * weight.
 */
const MOST_LINES = 3000;
/** Longer lines are cut: they are generated code. */
const LONGEST_LINE = 1000;

/** Returns the source text that a page includes, for the program's own code only. */
export function pageSources(
  { head }: PageData,
  measured: readonly MeasuredLine[],
  strings: { readonly texts: readonly string[]; of(text: string): number },
  { sources: kept, read }: { readonly sources: SourcesKept; readonly read: ReadSource },
): Pick<PageData, "sources" | "head"> {
  const shown = measured.slice(0, MOST_LINES);
  const byFile = new Map<string, { module: string | undefined; lines: Set<number> }>();
  for (const { file, module, line } of shown) {
    const ofFile = entryOf(byFile, file, () => ({ module, lines: new Set<number>() }));
    ofFile.lines.add(line);
  }
  const found = [...byFile].flatMap(([file, { module, lines }]): PageSource[] => {
    const source = read(file, module);
    if (source === undefined) return [];
    const parts = kept === "all" ? [[1, source.lines.length] as const] : runsOf(lines, source.lines.length);
    if (parts.length === 0) return [];
    return [
      {
        file: strings.of(file),
        parts: parts.map(([first, last]) => ({
          first,
          lines: source.lines.slice(first - 1, last).map((line) => line.slice(0, LONGEST_LINE)),
        })),
        ...(source.isNewer === true ? { isNewer: true } : {}),
      },
    ];
  });
  const pathOf = ({ file }: PageSource): string => strings.texts[file]!;
  found.sort((a, b) => (pathOf(a) < pathOf(b) ? -1 : 1));
  const hiddenCount = measured.length - shown.length;
  if (hiddenCount === 0) return { sources: found, head };
  const sentence = `Source text is included for the ${MOST_LINES} lines with the largest figures; ${hiddenCount} more lines have figures only.`;
  return { sources: found, head: { ...head, notTracked: [...head.notTracked, sentence] } };
}

/** Returns the ranges of lines around measured ones; adjacent ranges are joined. */
function runsOf(lines: ReadonlySet<number>, count: number): [first: number, last: number][] {
  const runs: [number, number][] = [];
  for (const line of [...lines].sort((a, b) => a - b)) {
    if (line > count) continue;
    const [first, last] = [Math.max(1, line - AROUND), Math.min(count, line + AROUND)];
    const run = runs.at(-1);
    if (run !== undefined && first <= run[1] + 1) run[1] = last;
    else runs.push([first, last]);
  }
  return runs;
}

export interface MeasuredLine {
  readonly file: string;
  readonly module: string | undefined;
  readonly line: number;
}

/**
 * Returns the lines of the program's own code: lines of findings first, then by largest share of any weight.
 */
export function measuredLines(page: PageData): MeasuredLine[] {
  const { frames, strings, modules, findings, statics } = page;
  const lineOf = (frame: number): MeasuredLine[] => {
    const [file, line] = [frames.file[frame]!, frames.line[frame]!];
    if (file < 0 || line === 0 || (frames.flags[frame]! & FRAME_FLAGS.library) !== 0) return [];
    return [{ file: strings[file]!, line, module: modules[frames.module[frame]!]?.path }];
  };
  const shares = frameShares(page);
  const rest = Array.from(shares.keys())
    .filter((frame) => shares[frame]! > 0)
    .sort((a, b) => shares[b]! - shares[a]! || a - b);
  const declared = statics.flatMap(({ file, line, module }): MeasuredLine[] =>
    file === undefined || line === undefined ? [] : [{ file, line, module: modules[module]?.path }],
  );
  const candidates = [
    ...findings.flatMap(({ path }) => path.flatMap(lineOf)),
    ...rest.flatMap(lineOf),
    ...declared,
  ];
  const seen = new Set<string>();
  return candidates.filter(({ file, line }) => {
    const key = `${line} ${file}`;
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

/** Returns each frame's largest share of any weight, callees included. */
function frameShares({ contexts, weights, frames, throughMerged }: PageData): Float64Array {
  const shares = new Float64Array(frames.length);
  for (const { id, values, total } of weights) {
    if (total === 0) continue;
    const sums = values.slice();
    for (let context = contexts.length - 1; context >= 0; context--) {
      const caller = contexts.parent[context]!;
      if (caller !== -1) sums[caller]! += sums[context]!;
      const frame = contexts.frame[context]!;
      shares[frame] = Math.max(shares[frame]!, sums[context]! / total);
    }
    const missing = throughMerged?.columns.find(({ weight }) => weight === id);
    missing?.ofLines.forEach((value, row) => {
      const frame = throughMerged!.lines[row]!;
      shares[frame] = Math.max(shares[frame]!, value / total);
    });
  }
  return shares;
}
