import { findingLines } from "../../findings/finding-lines.ts";
import { plural } from "../../format.ts";
import type { Paint } from "../common/paint.ts";
import { Screen } from "../common/screen.ts";
import { printable } from "../common/text.ts";
import { bodyRows, topFor } from "./layout.ts";
import { markedRow, type Rendered } from "./render.ts";
import { gapLines } from "./render-gaps.ts";
import type { ViewModel } from "./view-model.ts";
import type { FindingsScreen, Size } from "./view-state.ts";

const MARK = 2;

export function renderFindings(model: ViewModel, screen: FindingsScreen, size: Size, paint: Paint): Rendered {
  const { findings, input, stacks } = model.contents;
  const height = bodyRows(size);
  const top = topFor(screen.top, screen.cursor, height, findings.length);
  const wide = new Screen({ paint, width: size.columns, isWide: false });
  const lines = findings.length === 0 ? [] : findingLines(wide, findings, size.columns - MARK);
  return {
    left: `Findings of ${printable(input)}`,
    right: plural(findings.length, "finding"),
    heads: "  what goes if it is mended, and where",
    body: [
      ...lines
        .slice(top, top + height)
        .map((line, row) => markedRow(line, top + row === screen.cursor, size, paint)),
      ...gapLines(
        stacks.flatMap(({ gaps }) => gaps),
        height - lines.length,
        size,
        paint,
      ),
    ],
    keys: "Enter source  t call tree  / search  ? help  q quit",
    screen: { ...screen, top },
  };
}
