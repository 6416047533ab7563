/** Position of TypeDoc's links in the top row. TypeDoc itself only allows addresses that are the same for every page. */
const PLACE = /(<div id="tsd-toolbar-links">)(<\/div>)/;

/**
 * A page of the API reference with a link back to the documentation in its top row.
 * @param name path of the page below the folder of the reference
 */
export function withWayBack(html: string, name: string): string {
  if (!PLACE.test(html)) throw new Error(`${name} has no place for the way back`);
  const up = "../".repeat(name.split(/[/\\]/).length);
  return html.replace(PLACE, `$1<a href="${up}index.html">Documentation</a>$2`);
}
