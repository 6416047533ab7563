import { describe, expect, it } from "vitest";
import { decodePage } from "../../../../../src/show/report/page/data/decode.ts";
import { pageFile } from "../../../../../src/show/report/page/data/encode.ts";
import { madeUpPage } from "../made-up-page.ts";

const TEMPLATE =
  '<title>{{title}}</title><noscript><pre>{{text}}</pre></noscript><script type="data">{{data}}</script><script>run()</script>';

const page = madeUpPage({ contexts: 5 });
const named = (program: string) => ({ ...page, head: { ...page.head, program } });

describe("the file of a page", () => {
  it("is the template with title, text and data", async () => {
    const html = (await pageFile(TEMPLATE, named("app.wasm"), "Heap profile")).join("");
    expect(html).toMatch(
      /^<title>app\.wasm · memshade<\/title><noscript><pre>Heap profile<\/pre><\/noscript>/,
    );
    const data = /<script type="data">([^<]*)<\/script><script>run\(\)<\/script>$/.exec(html)![1]!;
    expect(await decodePage(data)).toEqual(named("app.wasm"));
  });

  it("lets no name and no text out of its element, nor take the place of another", async () => {
    const names = [
      "</title><script>alert(1)</script>",
      "{{data}}",
      "$&",
      "$`",
      "a & b",
      "\0\u001b[31m",
      "\ud800",
    ];
    for (const name of names) {
      const html = (await pageFile(TEMPLATE, named(name), `${name}</pre></noscript>`)).join("");
      expect(html.match(/<script/g), name).toHaveLength(2);
      expect(html.match(/<\/noscript>/g), name).toHaveLength(1);
      expect(html).not.toMatch(/[^\P{Cc}\t\n\r]/u);
      const data = /<script type="data">([^<]*)<\/script>/.exec(html)![1]!;
      expect((await decodePage(data)).head.program).toBe(name);
    }
  });

  it("is not made of a template that has a place twice, or lacks one", async () => {
    await expect(pageFile("{{title}}{{text}}", page, "")).rejects.toThrow("0 of {{data}}");
    await expect(pageFile("{{title}}{{title}}{{text}}{{data}}", page, "")).rejects.toThrow("2 of {{title}}");
  });
});
