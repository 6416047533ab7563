import type { Paint } from "../common/paint.ts";
import { keyLines } from "./keys.ts";
import { bodyRows, topFor } from "./layout.ts";
import { markedRow, type Rendered } from "./render.ts";
import type { HelpScreen, Size } from "./view-state.ts";

export function renderHelp(screen: HelpScreen, size: Size, paint: Paint): Rendered {
  const height = bodyRows(size);
  const lines = keyLines(size);
  const top = topFor(screen.top, screen.cursor, height, lines.length);
  return {
    left: "Keys",
    right: "",
    heads: "",
    body: lines
      .slice(top, top + height)
      .map((line, row) => markedRow(line, top + row === screen.cursor, size, paint)),
    keys: "q back",
    screen: { ...screen, top },
  };
}
