// Draws what a terminal shows as an SVG picture, for the documentation:
//
//   npx memshade demo --color always | node scripts/draw-terminal.ts '$ npx memshade demo'
//
// The argument, if any, is shown as the command that was typed. Every run of characters gets its own place and length,
// so that columns stand where they belong in whatever font a viewer has; bars and rules are drawn as shapes.
import { readFileSync } from "node:fs";

const CELL_WIDTH = 8.4;
const LINE_HEIGHT = 18;
const FONT_SIZE = 14;
const PADDING = 16;
const BACKGROUND = "#16181d";
const FOREGROUND = "#d5d8de";
/** Colours of the escape sequences that reports use. */
const COLORS: Readonly<Record<number, string>> = { 32: "#8fce8a", 33: "#e5c07b", 36: "#6cc3d5" };
/** Eighths of a cell that a block character fills. */
const EIGHTHS = " ▏▎▍▌▋▊▉█";
/** Eighths of a line's height, in curves over time. */
const HEIGHTS = " ▁▂▃▄▅▆▇█";
const RULE = "─";

interface Style {
  color: string;
  bold: boolean;
  faint: boolean;
}

const PLAIN: Style = { color: FOREGROUND, bold: false, faint: false };

function applyCode(style: Style, code: number): Style {
  if (code === 0) return PLAIN;
  if (code === 1) return { ...style, bold: true };
  if (code === 2) return { ...style, faint: true };
  if (code === 22) return { ...style, bold: false, faint: false };
  if (code === 39) return { ...style, color: FOREGROUND };
  return { ...style, color: COLORS[code] ?? style.color };
}

function escapeXml(text: string): string {
  return text.replace(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`);
}

const number = (value: number): string => String(Math.round(value * 100) / 100);

/** SVG of one piece of text in one style. Spaces are implied by the positions of the words. */
function drawPiece(text: string, style: Style, column: number, line: number): string {
  const top = PADDING + line * LINE_HEIGHT;
  const fill = `fill="${style.color}"${style.faint ? ' opacity="0.6"' : ""}`;
  const parts: string[] = [];
  for (const match of text.matchAll(
    /[▁▂▃▄▅▆▇█]*[▁▂▃▄▅▆▇][▁▂▃▄▅▆▇█]*|[▏▎▍▌▋▊▉█]+|─+|[^\s▁▂▃▄▅▆▇▏▎▍▌▋▊▉█─]+(?: [^\s▁▂▃▄▅▆▇▏▎▍▌▋▊▉█─]+)*/gu,
  )) {
    const [word] = match;
    const x = PADDING + (column + match.index) * CELL_WIDTH;
    const width = word.length * CELL_WIDTH;
    if (word.startsWith(RULE) && word.length > 2) {
      const y = number(top + LINE_HEIGHT / 2);
      parts.push(`<rect x="${number(x)}" y="${y}" width="${number(width)}" height="1" ${fill}/>`);
    } else if (/[▁▂▃▄▅▆▇]/.test(word)) {
      for (const [index, character] of [...word].entries()) {
        const height = ((LINE_HEIGHT - 5) * HEIGHTS.indexOf(character)) / 8;
        const place = `x="${number(x + index * CELL_WIDTH)}" y="${number(top + LINE_HEIGHT - 2 - height)}"`;
        parts.push(`<rect ${place} width="${number(CELL_WIDTH + 0.4)}" height="${number(height)}" ${fill}/>`);
      }
    } else if (EIGHTHS.includes(word[0])) {
      const eighths = [...word].reduce((sum, character) => sum + EIGHTHS.indexOf(character), 0);
      const place = `x="${number(x)}" y="${number(top + 3)}" height="${LINE_HEIGHT - 5}"`;
      parts.push(`<rect ${place} width="${number((eighths / 8) * CELL_WIDTH)}" ${fill}/>`);
    } else {
      const place = `x="${number(x)}" y="${number(top + FONT_SIZE)}" textLength="${number(width)}"`;
      parts.push(
        `<text ${place} ${fill}${style.bold ? ' font-weight="bold"' : ""}>${escapeXml(word)}</text>`,
      );
    }
  }
  return parts.join("");
}

function drawLine(text: string, line: number): { svg: string; columns: number } {
  let style = PLAIN;
  let column = 0;
  let svg = "";
  // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with one
  for (const piece of text.split(/(\u001b\[[0-9;]*m)/))
    if (piece.startsWith("\u001b[")) {
      for (const code of piece.slice(2, -1).split(";")) style = applyCode(style, Number(code));
    } else {
      svg += drawPiece(piece, style, column, line);
      column += piece.length;
    }
  return { svg, columns: column };
}

const [command] = process.argv.slice(2);
const typed = command === undefined ? [] : [command, ""];
const lines = [...typed, ...readFileSync(0, "utf8").trimEnd().split("\n")].map(drawLine);
const width = Math.max(80, ...lines.map(({ columns }) => columns)) * CELL_WIDTH + 2 * PADDING;
const height = lines.length * LINE_HEIGHT + 2 * PADDING;
const font = `font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="${FONT_SIZE}"`;
process.stdout.write(
  `<svg xmlns="http://www.w3.org/2000/svg" width="${number(width)}" height="${number(height)}" ` +
    `viewBox="0 0 ${number(width)} ${number(height)}" ${font} lengthAdjust="spacingAndGlyphs">\n` +
    `<rect width="100%" height="100%" rx="8" fill="${BACKGROUND}"/>\n` +
    `${lines.map(({ svg }) => svg).join("\n")}\n</svg>\n`,
);
