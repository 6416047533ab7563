import { h } from "preact";
import type { PageModel } from "../model/page-model.ts";
import { el } from "./element.ts";
import { shown, shownLine } from "./shown-text.ts";

/** Lines before and after the marked ones. */
const AROUND = 2;

interface Mark {
  readonly line: number;
  /** Text after the line. */
  readonly note: string;
}

/** Source text around the line of a frame, if the page has it. */
export function SourceExcerpt({ model, frame, marks }: { model: PageModel; frame: number; marks: Mark[] }) {
  const { names, data } = model;
  const file = names.file(frame);
  const line = names.line(frame);
  if (file === undefined || line === 0)
    return el(
      "p.excerpt-missing",
      "Unknown source line: ",
      el("code", shown(addressOf(model, frame))),
      ". Build the program with debug information (-g) to see it.",
    );
  const source = data.sources.find((source) => source.file === data.frames.file[frame]);
  const part = source?.parts.find(({ first, lines }) => first <= line && line < first + lines.length);
  const note = marks.find((mark) => mark.line === line)?.note;
  if (part === undefined)
    return el(
      "p.excerpt-missing",
      el("code", shown(`${file}:${line}`)),
      note === undefined || note === "" ? null : ` ← ${note}`,
      el("span.dim", ` ${missingText(data)}`),
    );
  const from = Math.max(part.first, line - AROUND);
  const to = Math.min(part.first + part.lines.length - 1, line + AROUND);
  return el(
    "figure.excerpt",
    el(
      "figcaption",
      shown(file),
      source!.isNewer ? el("strong.newer", " changed after the run: line numbers may differ") : null,
    ),
    h(
      "pre",
      { tabIndex: 0, "aria-label": `Source, ${shown(names.place(frame))}` },
      Array.from({ length: to - from + 1 }, (_, index) => {
        const at = from + index;
        return h(
          "div",
          { key: at, class: at === line ? "line marked" : "line" },
          el("span.number", at),
          el(
            "span.text",
            el("code", shownLine(part.lines[at - part.first])),
            at === line && note ? el("span.note", `← ${note}`) : null,
          ),
        );
      }),
    ),
  );
}

/** Returns why the text of a file is missing, with advice. */
export function missingText({ sourcesKept }: PageModel["data"]): string {
  return sourcesKept === "none"
    ? "The report was written without sources (--html-sources)."
    : "The source file was not found. Write the report again in the project's folder, or with --path-map FROM=TO.";
}

/** Formats the known properties of a frame without a line: `viewer.wasm func[12] at 0x1a2b`. */
function addressOf({ data, names }: PageModel, frame: number): string {
  const address = data.frames.address[frame];
  const parts = [names.module(frame), names.function(frame)].filter((part) => part !== undefined);
  return parts.join(" ") + (address >= 0 ? ` at 0x${address.toString(16)}` : "");
}
