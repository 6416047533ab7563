import { printableHtml } from "../../../../profile/model/printable.ts";
import { encodePage } from "./encode.ts";
import type { PageData } from "./page-data.ts";

/** What stands in the template of the page, once each, where something belongs. */
const PLACES = ["{{title}}", "{{text}}", "{{data}}"] as const;

/**
 * The HTML file of a page, in pieces.
 *
 * @param template the page without data, which the build makes
 * @param text the report as text, for whoever has no scripts
 */
export async function pageFile(template: string, page: PageData, text: string): Promise<string[]> {
  const { program, before } = page.head;
  const title = `${before === undefined ? "" : `${before.program} → `}${program} · memshade`;
  const fillings = [printableHtml(title), printableHtml(text), await encodePage(page)];
  const pieces: string[] = [];
  let rest = template;
  // Only the template is searched: names and text may have anything in them.
  for (const [index, place] of PLACES.entries()) {
    const parts = rest.split(place);
    if (parts.length !== 2) throw new Error(`the template has ${parts.length - 1} of ${place}`);
    pieces.push(parts[0]!, fillings[index]!);
    rest = parts[1]!;
  }
  return [...pieces, rest];
}
