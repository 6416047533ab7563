import { statSync } from "node:fs";
import { Option } from "commander";
import type { SourcesKept } from "../../report/page/data/sources.ts";
import { parseChoice } from "../commands/report-options.ts";
import type { HtmlOption } from "./page-file.ts";

/** Options of a page, as they were given. */
export interface HtmlFlags {
  readonly html?: HtmlOption | undefined;
  readonly open?: boolean | undefined;
  readonly htmlSources?: SourcesKept | undefined;
}

export const HTML_OPTION = new Option(
  "--html [file]",
  "write one HTML file that shows all of it, offline (docs/report-page.md); default: in the run's folder",
);
export const OPEN_OPTION = new Option("--open", "with --html, show it in the browser");
export const HTML_SOURCES_OPTION = new Option(
  "--html-sources <what>",
  "with --html, source that goes into the file: all, lines (around those with numbers) or none (default: lines)",
).argParser((text) => parseChoice<SourcesKept>("--html-sources", ["all", "lines", "none"], text));

/** Where a page was asked for: what it is to be called; undefined otherwise. */
export function askedPage({ html, open, htmlSources }: HtmlFlags): HtmlOption | undefined {
  return html ?? (open === true || htmlSources !== undefined ? true : undefined);
}

/**
 * `--html RUN` with no other run: the shell's words do not tell whether RUN is the file to write. What is there already and is no
 * page is the run.
 */
export function runBehindHtml(html: HtmlOption | undefined): string | undefined {
  if (html === undefined || html === true || /\.html?$/i.test(html)) return undefined;
  return statSync(html, { throwIfNoEntry: false }) === undefined ? undefined : html;
}
