// Makes HTML pages from the project's Markdown: all pages that docs/index.md leads to, without network access.
import { existsSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { Marked, type Token, type Tokens } from "marked";
import { type Section, searchScript } from "./search.ts";

/** A file of the site, by path with slashes. */
export interface SiteFile {
  path: string;
  contents: string | Buffer;
}

export interface Site {
  files: SiteFile[];
  /** Broken links, each described in words. */
  brokenLinks: string[];
}

interface Page {
  /** Path below the root, with slashes. */
  source: string;
  text: string;
  title: string;
  links: string[];
  pictures: string[];
  anchors: Set<string>;
}

const START = "docs/index.md";
const SEARCH = "search.js";
/** Source of a picture that is written as HTML. */
const PICTURE = /\b(src|srcset)="([^"\s]+)"/g;

/**
 * Pages that docs/index.md leads to, directly or not, and their pictures.
 * @param root the checkout.
 */
export function sitePages(root: string): Site {
  const pages = new Map<string, Page>();
  const open = [START];
  for (let source = open.pop(); source !== undefined; source = open.pop()) {
    if (pages.has(source) || !existsSync(join(root, source))) continue;
    const page = readPage(root, source);
    pages.set(source, page);
    open.push(...page.links.map((link) => target(source, link).path).filter((path) => path.endsWith(".md")));
  }
  const pictures = new Set(
    [...pages.values()].flatMap((page) => page.pictures.map((href) => target(page.source, href).path)),
  );
  return {
    files: [
      ...[...pages.values()].map((page) => ({ path: sitePath(page.source), contents: render(page, pages) })),
      ...[...pictures]
        .filter((path) => existsSync(join(root, path)))
        .map((path) => ({ path: sitePath(path), contents: readFileSync(join(root, path)) })),
      { path: SEARCH, contents: searchScript([...pages.values()].flatMap(sectionsOf)) },
      { path: "site.css", contents: readFileSync(new URL("site.css", import.meta.url)) },
    ],
    brokenLinks: [...pages.values()].flatMap((page) =>
      [...page.links, ...page.pictures]
        .filter((href) => isBroken(page, href, pages, root))
        .map((href) => `${page.source}: ${href}`),
    ),
  };
}

function readPage(root: string, source: string): Page {
  const text = readFileSync(join(root, source), "utf8");
  const page: Page = { source, text, title: source, links: [], pictures: [], anchors: new Set() };
  const marked = new Marked({
    walkTokens: (token) => {
      if (token.type === "link") page.links.push((token as Tokens.Link).href);
      if (token.type === "image") page.pictures.push((token as Tokens.Image).href);
      if (token.type === "html")
        for (const [, , href] of (token as Tokens.HTML).text.matchAll(PICTURE)) page.pictures.push(href!);
      if (token.type !== "heading") return;
      const { depth, text } = token as Tokens.Heading;
      if (depth === 1) page.title = text;
      page.anchors.add(anchorOf(text));
    },
  });
  marked.parse(text);
  return page;
}

/** The sections of a page, as the search finds them. */
function sectionsOf({ source, title, text }: Page): Section[] {
  const sections: (Section & { text: string })[] = [];
  const path = sitePath(source);
  const page = plainText(new Marked().lexer(title));
  for (const token of new Marked().lexer(text)) {
    const heading = token.type === "heading" ? (token as Tokens.Heading) : undefined;
    if (heading !== undefined || sections.length === 0) {
      const isFirst = sections.length === 0;
      sections.push({
        path,
        anchor: isFirst || heading === undefined ? "" : anchorOf(heading.text),
        page,
        heading: isFirst || heading === undefined ? page : plainText(heading.tokens),
        text: "",
      });
    }
    if (heading === undefined) {
      const section = sections.at(-1)!;
      section.text = `${section.text} ${plainText([token])}`.trim();
    }
  }
  return sections;
}

/** The text of tokens without marks, links and HTML. */
function plainText(tokens: readonly Token[]): string {
  const words: string[] = [];
  new Marked().walkTokens([...tokens], (token) => {
    const isLeaf =
      !("tokens" in token && token.tokens !== undefined) && !("items" in token) && token.type !== "table";
    if (isLeaf && "text" in token && token.type !== "html" && token.type !== "image") words.push(token.text);
  });
  return words.join(" ").replaceAll(/\s+/g, " ").trim();
}

/** Target of a page's link, below the root. */
function target(source: string, href: string): { path: string; anchor: string } {
  const [path, anchor = ""] = href.split("#");
  return { path: path === "" ? source : posix.join(posix.dirname(source), path), anchor };
}

function isElsewhere(href: string): boolean {
  return /^[a-z]+:/.test(href);
}

function isBroken(page: Page, href: string, pages: ReadonlyMap<string, Page>, root: string): boolean {
  if (isElsewhere(href)) return false;
  const { path, anchor } = target(page.source, href);
  const found = pages.get(path);
  if (found !== undefined) return anchor !== "" && !found.anchors.has(anchor);
  return !existsSync(join(root, path));
}

/** Pages of docs/ are at the top of the site, others in folders as in the checkout. */
function sitePath(source: string): string {
  return source.replace(/^docs\//, "").replace(/\.md$/, ".html");
}

/** Anchor of a heading, by GitHub's rules. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(" ", "-");
}

function render(page: Page, pages: ReadonlyMap<string, Page>): string {
  const marked = new Marked({
    walkTokens: (token) => {
      if (token.type === "link" || token.type === "image") {
        const link = token as Tokens.Link;
        link.href = relativeTo(page, link.href, pages);
      }
      if (token.type === "html") {
        const html = token as Tokens.HTML;
        html.text = html.text.replace(
          PICTURE,
          (_, name: string, href: string) => `${name}="${relativeTo(page, href, pages)}"`,
        );
      }
    },
    renderer: {
      heading({ tokens, depth, text }) {
        return `<h${depth} id="${anchorOf(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
    },
  });
  const body = (marked.parse(page.text) as string)
    .replaceAll("<table>", '<div class="wide" tabindex="0"><table>')
    .replaceAll("</table>", "</table></div>");
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${page.source === START ? "memshade" : `${escaped(page.title)} · memshade`}</title>
<link rel="stylesheet" href="${here(page, "site.css")}">
</head>
<body>
<nav aria-label="Site">
<input id="search" type="search" placeholder="Search" aria-label="Search all pages" aria-controls="hits" hidden>
<ul id="hits" aria-live="polite"></ul>
${contents(page, pages)}
</nav>
<main>
${page.source === START ? "" : `<p class="up"><a href="${here(page, sitePath(START))}">All pages</a></p>\n`}${body}</main>
<script src="${here(page, SEARCH)}" data-root="${here(page, "x").slice(0, -1)}"></script>
</body>
</html>
`;
}

/** Relative link from a page to a path of the site. */
function here(page: Page, path: string): string {
  return posix.relative(posix.dirname(sitePath(page.source)), path);
}

/** Navigation of each page: the headings and links of the first page. */
function contents(page: Page, pages: ReadonlyMap<string, Page>): string {
  const start = pages.get(START);
  if (start === undefined) return "";
  const list = new Marked().lexer(start.text).flatMap((token): string[] => {
    if (token.type === "heading") {
      const { depth, text } = token as Tokens.Heading;
      return depth === 1
        ? [`<p class="home"><a href="${relativeTo(page, START, pages, "")}">memshade</a></p>`]
        : [`<p>${escaped(text)}</p>`];
    }
    if (token.type !== "list") return [];
    const links: Tokens.Link[] = [];
    new Marked().walkTokens([token], (inner) => {
      if (inner.type === "link") links.push(inner as Tokens.Link);
    });
    const items = links.map(({ href, text }) => {
      const isHere = target(START, href).path === page.source;
      const current = isHere ? ' aria-current="page"' : "";
      return `<li><a href="${relativeTo(page, posix.join("docs", href), pages, "")}"${current}>${escaped(text)}</a></li>`;
    });
    return [`<ul>${items.join("")}</ul>`];
  });
  return [...list, `<ul><li><a href="${here(page, "api/index.html")}">API reference</a></li></ul>`].join(
    "\n",
  );
}

/** Link of a page on the site; links to files that are no pages stay as in the project. */
function relativeTo(page: Page, href: string, pages: ReadonlyMap<string, Page>, from = page.source): string {
  if (isElsewhere(href)) return href;
  const { path, anchor } = from === "" ? { path: href, anchor: "" } : target(from, href);
  const isOnSite = pages.has(path) || /\.(svg|png)$/.test(path);
  if (!isOnSite) return `${REPOSITORY}/${path}`;
  return here(page, sitePath(path)) + (anchor === "" ? "" : `#${anchor}`);
}

const REPOSITORY = "https://github.com/memshade/memshade/blob/main";

function escaped(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
