import { statSync } from "node:fs";
import type { HtmlOption } from "../../runs/page/page-file.ts";
import type { SourcesKept } from "../../show/report/page/data/sources.ts";

export interface HtmlFlags {
  readonly html?: HtmlOption | undefined;
  readonly open?: boolean | undefined;
  readonly htmlSources?: SourcesKept | undefined;
}

/** Returns the requested page's name or `true`; undefined if no page was requested. */
export function requestedPage({ html, open, htmlSources }: HtmlFlags): HtmlOption | undefined {
  return html ?? (open === true || htmlSources !== undefined ? true : undefined);
}

/**
 * Resolves `--html RUN` without another run, in which RUN looks like the file to write. An existing path that
 * is no page is the run.
 */
export function runBehindHtml(html: HtmlOption | undefined): string | undefined {
  if (html === undefined || html === true || /\.html?$/i.test(html)) return undefined;
  return statSync(html, { throwIfNoEntry: false }) === undefined ? undefined : html;
}
