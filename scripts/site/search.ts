// The search of the documentation's site. It needs no network and no server: each page loads the sections of all pages as a script,
// which also works for files that a browser opens from disk.

/** A part of a page, from one heading to the next. */
export interface Section {
  /** The page's path on the site, with slashes. */
  readonly path: string;
  /** Empty for the part in front of the second heading. */
  readonly anchor: string;
  readonly page: string;
  readonly heading: string;
  /** Without marks of Markdown. */
  readonly text: string;
}

/** A section that has all words of a query, and the position of the first of them in its text. */
export interface Hit {
  readonly section: Section;
  readonly excerpt: string;
}

/**
 * Finds the sections that have all words of a query, the best first.
 *
 * Browsers run this function from its text, so it uses nothing from outside.
 *
 * @param most hits that are returned.
 */
export function findSections(sections: readonly Section[], query: string, most: number): Hit[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  const found = sections.flatMap((section) => {
    const [page, heading, text] = [section.page, section.heading, section.text].map((part) =>
      part.toLowerCase(),
    );
    let score = 0;
    for (const word of words) {
      const inText = text!.split(word).length - 1;
      const ofWord =
        (heading!.includes(word) ? 20 : 0) + (page!.includes(word) ? 10 : 0) + Math.min(inText, 5);
      if (ofWord === 0) return [];
      score += ofWord;
    }
    const at = Math.max(0, text!.lastIndexOf(" ", text!.indexOf(words[0]!) - 40) + 1);
    const excerpt = section.text.slice(at, at + 140).replace(/\s\S*$/, " …");
    return [{ score, section, excerpt: at > 0 ? `… ${excerpt}` : excerpt }];
  });
  found.sort((one, other) => other.score - one.score);
  return found.slice(0, most).map(({ section, excerpt }) => ({ section, excerpt }));
}

/**
 * Lists hits below the field of a page while its user types.
 *
 * Browsers run this function from its text, too.
 *
 * @param find as {@link findSections}.
 * @param root the path from the page to the site's top: empty, or `../`.
 */
export function startSearch(find: typeof findSections, sections: readonly Section[], root: string): void {
  const field = document.querySelector<HTMLInputElement>("#search")!;
  const list = document.querySelector("#hits")!;
  field.hidden = false;
  field.addEventListener("input", () => {
    const hits = find(sections, field.value, 12);
    const isEmpty = hits.length === 0 && field.value.trim() !== "";
    list.replaceChildren(
      ...hits.map(({ section, excerpt }) => {
        const item = document.createElement("li");
        const link = document.createElement("a");
        link.href = root + section.path + (section.anchor === "" ? "" : `#${section.anchor}`);
        link.textContent =
          section.heading === section.page ? section.page : `${section.page}: ${section.heading}`;
        const text = document.createElement("p");
        text.textContent = excerpt;
        item.append(link, text);
        return item;
      }),
      ...(isEmpty ? ["nothing found"] : []),
    );
  });
}

/** The script that each page loads: it starts the search with the sections of all pages. */
export function searchScript(sections: readonly Section[]): string {
  return `const root = document.currentScript.dataset.root;
const sections = ${JSON.stringify(sections)};
${startSearch}
${findSections}
startSearch(findSections, sections, root);
`;
}
