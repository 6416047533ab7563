import { statSync } from "node:fs";
import type { HtmlOption } from "../../runs/page/page-file.ts";
import type { SourcesKept } from "../../show/report/page/data/sources.ts";

/** Options of a page, as they were given. */
export interface HtmlFlags {
  readonly html?: HtmlOption | undefined;
  readonly open?: boolean | undefined;
  readonly htmlSources?: SourcesKept | undefined;
}

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
