import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TABS } from "../../../../src/show/report/page/app/state.ts";
import { encodePage } from "../../../../src/show/report/page/data/encode.ts";
import type { PageData } from "../../../../src/show/report/page/data/page-data.ts";
import { madeUpPage } from "./made-up-page.ts";
import { hasChromium, PageBrowser } from "./open-page.ts";

const HOSTILE = [
  "</script><script>alert(1)</script>",
  '"><svg onload=alert(1)>',
  "<img src=http://localhost:1/x onerror=alert(1)>",
  "__proto__",
  "constructor",
  "toString",
  "javascript:alert(1)",
  "a\u202eb\u2066c\u200bd",
  "half \ud83d of a pair",
  "line\nbreak\ttab\0nul",
  "{{data}} $& $1 <!-- ]]>",
  "=cmd|' /C calc'!A1",
  "x".repeat(2 ** 20),
  "",
];

/** A report in which all names that a program can choose are hostile. */
function hostilePage(): PageData {
  const data = madeUpPage();
  const name = (index: number) => HOSTILE[index % HOSTILE.length];
  return {
    ...data,
    strings: data.strings.map((_, index) => name(index)),
    modules: data.modules.map((module) => ({ ...module, name: name(1), path: name(0) })),
    head: {
      ...data.head,
      program: name(1),
      command: HOSTILE.join(" "),
      ended: name(2),
      facts: HOSTILE.map((value) => ({ label: value.slice(0, 100), value })),
      notTracked: HOSTILE,
      hints: [name(0), name(7)],
    },
    findings: data.findings.map((finding, index) => ({
      ...finding,
      kind: name(index).slice(0, 60),
      says: name(index + 1),
      advice: name(index),
    })),
    objects: data.objects.map((object) => ({ ...object, type: { name: name(1), size: 8, by: name(2) } })),
    statics: HOSTILE.map((text) => ({ name: text, module: 0, file: text, line: 1, bytes: 8 })),
    code: data.code?.map((code) => ({ ...code, text: HOSTILE.slice(0, 2) })),
    sources: data.sources.map((source) => ({ ...source, parts: [{ first: 1, lines: HOSTILE }] })),
  };
}

describe.skipIf(!hasChromium)("a report of a program that names things to do harm", () => {
  let browser: PageBrowser;
  beforeAll(async () => {
    browser = await PageBrowser.start();
  });
  afterAll(() => browser?.close());

  it("runs nothing, asks no network, and shows what cannot be seen", async () => {
    const page = await browser.open(hostilePage());
    for (const tab of TABS) {
      await page.evaluate((hash) => {
        location.hash = hash;
      }, `tab=${tab}&finding=0`);
      await page.waitForTimeout(100);
      expect(await page.locator("script").count(), tab).toBe(5);
      expect(await page.locator("img, iframe, a[href], [onload], [onerror]").count(), tab).toBe(0);
    }
    await page.evaluate(() => {
      location.hash = "tab=help";
    });
    await page.getByText("‹U+202E›").first().waitFor();
    await page.locator("#view").getByText("(1048576 characters)").first().waitFor();
    expect(browser.complaints).toEqual([]);
  });

  it("takes any address", async () => {
    const data = madeUpPage();
    for (const hash of [
      ...HOSTILE.slice(0, 12).map((text) => encodeURIComponent(text.replaceAll(/\p{Cs}/gu, ""))),
      "site=99999999",
      "frame=99999999&frameOf=package",
      "finding=999",
      "open=9.8.x",
      "range=heap-50-999999999",
      "weight=nothing&sort=__proto__",
      "tab=sites&filter=%28%5B%22&group=path",
      "hidden=leak.__proto__",
      "graph=%7B%22zoom%22%3A%22x%22%7D&tab=graph",
      "graph=[1]&tab=graph",
      "tab=diff&side=before",
      "%",
      "a=%zz",
    ]) {
      const page = await browser.open(data, hash);
      expect(await page.locator("#view").count(), hash).toBe(1);
      await browser.closePages();
    }
    expect(browser.complaints).toEqual([]);
  });

  it("says that it is cut off, wherever it is", async () => {
    const whole = browser.textOf(await encodePage(madeUpPage()));
    const begin = whole.indexOf("<noscript>");
    for (const part of [0, 0.1, 0.5, 0.8, 0.95, 0.999]) {
      const page = await browser.openText(whole.slice(0, begin + part * (whole.length - begin)));
      expect(await page.locator("body").innerText(), `${part}`).toContain("damaged or truncated");
      await browser.closePages();
    }
    expect(browser.complaints).toEqual([]);
  });

  it("says that its script was changed", async () => {
    const whole = browser.textOf(await encodePage(madeUpPage()));
    const at = whole.indexOf('id="app-script">') + 20_000;
    const page = await browser.openText(
      `${whole.slice(0, at)}${whole[at] === "A" ? "B" : "A"}${whole.slice(at + 1)}`,
    );
    expect(await page.locator("body").innerText()).toContain("damaged or truncated");
    expect(browser.complaints).toEqual([]);
  });

  it("cannot reach a network even if something runs in it", async () => {
    const page = await browser.open(madeUpPage());
    const blocked = await page.evaluate(async () => {
      const refused: string[] = [];
      document.addEventListener("securitypolicyviolation", ({ violatedDirective }) => {
        refused.push(violatedDirective);
      });
      await fetch("http://localhost:1/").catch(() => {});
      const script = document.createElement("script");
      script.textContent = "globalThis.ran = true";
      document.body.append(script);
      await new Promise((done) => setTimeout(done, 100));
      return [...refused, "ran" in globalThis];
    });
    expect(blocked).toEqual(["connect-src", "script-src-elem", false]);
  });
});
