// Files with their sums, and the lines of one file with their figures in the gutter.
import { h } from "preact";
import { useMemo } from "preact/hooks";
import type { PageCode } from "../../data/page-data.ts";
import type { Figure } from "../model/figures.ts";
import { notThrough } from "../model/merged.ts";
import { lastPart, plainPath } from "../model/names.ts";
import type { PageModel } from "../model/page-model.ts";
import { type FileSums, type LineSums, sumLines } from "../model/source-lines.ts";
import { amount, difference, margin } from "../parts/amounts.ts";
import { el } from "../parts/element.ts";
import { useMedia } from "../parts/media.ts";
import { Bar } from "../parts/pictures.ts";
import { shown, shownLine } from "../parts/shown-text.ts";
import { missingText } from "../parts/source-excerpt.ts";
import { Word } from "../parts/word.ts";
import type { PageState } from "../state.ts";
import { select, type ViewProps } from "./view.ts";

/** Number columns in narrow windows. */
const NARROW_COLUMNS = 3;
/** Weights in the gutter, if they have amounts. */
const GUTTER = ["bytes", "blocks", "left", "accesses", "dead", "silent", "redundant", "misses"];

export function Source({ model, state, change }: ViewProps) {
  const { data } = model;
  const chosen = model.weight(state);
  const figures = model
    .figures(state)
    .filter(
      ({ id, values }) => (GUTTER.includes(id) || id === chosen?.id) && values.some((value) => value !== 0),
    );
  const key = JSON.stringify([state.range, state.side, state.folded, state.weight]);
  const files = useMemo(
    () =>
      sumLines(data, model.naming(state), figures, chosen).sort(
        (a, b) =>
          Math.abs(b.chosen) - Math.abs(a.chosen) ||
          Math.abs(b.through) - Math.abs(a.through) ||
          a.file - b.file,
      ),
    [model, key],
  );
  if (files.length === 0)
    return el(
      "p.nothing",
      "This program has no file names and lines. Build it with debug information (-g) to see them.",
    );
  const frame = selectedFrame(model, state);
  const wanted = frame === undefined ? undefined : data.frames.file[frame];
  const isOwn = ({ lines }: FileSums) => lines.some((line) => !model.names.is(line.frame, "library"));
  const file =
    files.find(({ file }) => file === wanted) ?? (state.folded ? files.find(isOwn) : undefined) ?? files[0];
  return el(
    "div.source",
    h(FileTree, { model, change, files, file, chosen }),
    h(FileLines, { model, state, change, file, figures, chosen }),
  );
}

/** Returns the frame whose file is shown. */
function selectedFrame(model: PageModel, state: PageState): number | undefined {
  if (state.frame !== undefined) return state.frame;
  if (state.site !== undefined) return model.shownPath(state.site, state)[0];
  return model.selectedFinding(state)?.path[0];
}

interface TreeProps extends Pick<ViewProps, "model" | "change"> {
  readonly files: readonly FileSums[];
  readonly file: FileSums;
  readonly chosen: Figure | undefined;
}

/** Files below their folders. */
function FileTree({ model, change, files, file: shownFile, chosen }: TreeProps) {
  const pathOf = ({ file }: FileSums) => plainPath(model.data.strings[file]);
  const folders = new Map<string, FileSums[]>();
  for (const file of files) {
    const path = pathOf(file);
    const folder = path.slice(0, path.length - lastPart(path).length).replace(/\/$/, "");
    folders.set(folder, [...(folders.get(folder) ?? []), file]);
  }
  const most = Math.max(...files.map(({ chosen }) => Math.abs(chosen)));
  const offOf = ({ lines }: FileSums): string => {
    const estimated = lines.flatMap(({ estimated }) => estimated);
    return chosen === undefined ? "" : margin(model.margins.of(chosen, estimated), chosen.unit);
  };
  return h(
    "nav",
    { class: "files", "aria-label": "Files" },
    [...folders].map(([folder, inside]) =>
      h(
        "details",
        { key: folder, open: true },
        h("summary", { title: shown(folder) }, shown(folder === "" || folder === "." ? "./" : folder)),
        el(
          "ul",
          inside.map((file) =>
            h(
              "li",
              { key: file.file },
              h(
                "button",
                {
                  type: "button",
                  "aria-current": file === shownFile ? "true" : undefined,
                  title: shown(pathOf(file)),
                  onClick: () => change(select({ frame: heaviest(file).frame, frameOf: "file" })),
                },
                el("span.name", shown(lastPart(pathOf(file)))),
                chosen
                  ? el("span.value", file.chosen === 0 ? "·" : written(chosen, file.chosen) + offOf(file))
                  : null,
                h(Bar, { part: most > 0 ? Math.abs(file.chosen) / most : 0 }),
              ),
            ),
          ),
        ),
      ),
    ),
  );
}

function heaviest({ lines }: FileSums): LineSums {
  return lines.reduce((best, line) => (Math.abs(line.through) > Math.abs(best.through) ? line : best));
}

interface LinesProps extends ViewProps {
  readonly file: FileSums;
  readonly figures: readonly Figure[];
  readonly chosen: Figure | undefined;
}

function share(file: FileSums, { figure, index }: { figure: Figure; index: number }): number {
  return Math.abs(file.own[index] / (figure.total || 1));
}

/** A gap replaces lines without text. */
type Row =
  | { readonly line: number; readonly text?: string | undefined }
  | { readonly gap: true; readonly line: number };

function FileLines({ model, state, change, file, figures, chosen }: LinesProps) {
  const { data } = model;
  const source = data.sources.find((source) => source.file === file.file);
  const sums = new Map(file.lines.map((line) => [line.line, line]));
  const selectedLine = lineOfSelection(model, state, file);
  const rows = rowsOf(file, source?.parts ?? []);
  // Empty columns would take space from the source text.
  const present = figures
    .map((figure, index) => ({
      figure,
      index,
      most: Math.max(...file.lines.map(({ own }) => Math.abs(own[index]))),
    }))
    .filter(({ most }) => most > 0);
  const lacking = notThrough(data, chosen);
  const ofFile = data.code?.filter((code) => code.file === file.file) ?? [];
  const code = new Map(state.instructions ? ofFile.map((code) => [code.line, code]) : []);
  const isNarrow = useMedia("(max-width: 1500px)") || code.size > 0;
  const off = (figure: Figure, contexts: readonly number[] = []): string =>
    margin(model.margins.of(figure, contexts), figure.unit);
  // Narrow windows show the figures with the largest share in this file.
  const columns = isNarrow
    ? present
        .toSorted(
          (a, b) =>
            Number(b.figure === chosen) - Number(a.figure === chosen) || share(file, b) - share(file, a),
        )
        .slice(0, NARROW_COLUMNS)
        .sort((a, b) => a.index - b.index)
    : present;
  return el(
    "div.lines",
    el(
      "h2",
      shown(plainPath(data.strings[file.file])),
      columns.length < present.length
        ? el(
            "small.dim",
            ` ${columns.length} of ${present.length} figures are shown: widen the window${code.size > 0 ? " and hide the instructions" : ""} to see all`,
          )
        : null,
    ),
    ofFile.length === 0
      ? null
      : h(
          "button",
          {
            type: "button",
            class: "chip",
            "aria-pressed": state.instructions,
            title: "Instructions of measured lines, by their offsets in the module's code",
            onClick: () => change({ instructions: !state.instructions }),
          },
          "Instructions",
        ),
    source === undefined
      ? el("p.dim", missingText(data))
      : source.isNewer
        ? el("p.newer", "This file was changed after the run: line numbers may differ.")
        : null,
    lacking === undefined ? null : el("p.dim", lacking),
    h(
      "div",
      { class: "scroll", tabIndex: 0, role: "region", "aria-label": "Source lines with their figures" },
      el(
        "table",
        el(
          "thead",
          el(
            "tr",
            columns.map(({ figure }) =>
              h(
                "th",
                { key: figure.id, scope: "col", class: "number" },
                h(Word, { word: figure.word, children: figure.label }),
                figure.isWholeRun ? el("small", " whole run") : null,
              ),
            ),
            chosen ? h("th", { scope: "col", class: "number" }, `${chosen.label}, with calls`) : null,
            h("th", { scope: "col", class: "number" }, "line"),
            h("th", { scope: "col" }, "source"),
          ),
        ),
        el(
          "tbody",
          rows.map((row) => {
            if ("gap" in row)
              return h(
                "tr",
                { key: `gap ${row.line}`, class: "gap" },
                h("td", { colSpan: columns.length + (chosen ? 3 : 2) }, "⋯"),
              );
            const line = sums.get(row.line);
            return h(
              "tr",
              {
                key: row.line,
                class: row.line === selectedLine ? "marked" : undefined,
                ref: row.line === selectedLine ? scrollTo : null,
              },
              columns.map(({ figure, index, most }) => {
                const value = line?.own[index] ?? 0;
                return h(
                  "td",
                  { key: figure.id, class: "number" },
                  value === 0
                    ? null
                    : [
                        el("span.value", written(figure, value)),
                        el("span.dim", off(figure, line?.estimated)),
                        h(Bar, { part: Math.abs(value) / most }),
                      ],
                );
              }),
              chosen
                ? el(
                    "td.number.through",
                    line?.through
                      ? [written(chosen, line.through), el("span.dim", off(chosen, line.estimatedThrough))]
                      : null,
                  )
                : null,
              el(
                "td.number",
                line
                  ? h(
                      "button",
                      {
                        type: "button",
                        class: "line-number",
                        title: "Select this line",
                        onClick: () => change(select({ frame: line.frame, frameOf: "line" })),
                      },
                      row.line,
                    )
                  : el("span.line-number", row.line),
              ),
              el(
                "td.text",
                el("code", row.text === undefined ? "" : shownLine(row.text)),
                h(Instructions, { code: code.get(row.line) }),
              ),
            );
          }),
        ),
      ),
    ),
  );
}

/** Instructions of a line. */
function Instructions({ code }: { readonly code: PageCode | undefined }) {
  if (code === undefined) return null;
  const offset = (index: number) => code.address[index].toString(16).padStart(6, "0");
  return el(
    "pre.instructions",
    code.text.map((text, index) =>
      h(
        "div",
        { key: index },
        el("span.dim", `${offset(index)}  `),
        // Calls contain names of the program's functions.
        shown(text),
      ),
    ),
    code.more === undefined ? null : el("div.dim", `${code.more} more`),
  );
}

function scrollTo(row: Element | null): void {
  row?.scrollIntoView({ block: "center" });
}

function lineOfSelection(model: PageModel, state: PageState, file: FileSums): number | undefined {
  const frame = selectedFrame(model, state);
  if (frame === undefined || model.data.frames.file[frame] !== file.file) return undefined;
  return state.frame !== undefined && (state.frameOf === "file" || state.frameOf === "package")
    ? undefined
    : model.names.line(frame);
}

/** Returns all lines with text, and all with figures. */
function rowsOf(file: FileSums, parts: readonly { first: number; lines: readonly string[] }[]): Row[] {
  const texts = new Map<number, string>();
  for (const { first, lines } of parts)
    for (const [index, text] of lines.entries()) texts.set(first + index, text);
  const lines = [...new Set([...texts.keys(), ...file.lines.map(({ line }) => line)])].sort((a, b) => a - b);
  return lines.flatMap((line, index): Row[] => [
    ...(index > 0 && line > lines[index - 1] + 1 ? [{ gap: true as const, line }] : []),
    { line, text: texts.get(line) },
  ]);
}

function written(figure: Figure, value: number): string {
  const isDifference =
    figure.before !== undefined && figure.values !== figure.before && figure.values !== figure.after;
  return (isDifference ? difference : amount)(value, figure.unit, figure.clock);
}
