import { existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { reportPage } from "../../../../scripts/report-page.ts";
import { encodePage } from "../../../../src/show/report/page/data/encode.ts";
import type { PageData } from "../../../../src/show/report/page/data/page-data.ts";

const CHROMIUM = "/usr/bin/chromium";
export const hasChromium = existsSync(CHROMIUM);
if (!hasChromium)
  console.warn("SKIPPED: Chromium is not installed, no report page is opened (Debian: chromium)");

export async function pageOf(data: PageData): Promise<string> {
  return filled(await reportPage(), await encodePage(data));
}

function filled(template: string, data: string): string {
  const fields: Readonly<Record<string, string>> = { title: "A report", text: "", data };
  return template.replace(/\{\{(\w+)\}\}/g, (_, name) => fields[name]);
}

/** A browser that opens report pages from the disk, and records errors in them. */
export class PageBrowser {
  /** Console messages, script errors and network requests: none is expected. */
  readonly complaints: string[] = [];
  readonly #browser: Browser;
  readonly #template: string;
  readonly #folder = mkdtempSync(join(tmpdir(), "report-page-"));
  #files = 0;

  static async start(): Promise<PageBrowser> {
    const browser = await chromium.launch({
      executablePath: CHROMIUM,
      args: [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--disable-component-update",
      ],
    });
    return new PageBrowser(browser, await reportPage());
  }

  private constructor(browser: Browser, template: string) {
    this.#browser = browser;
    this.#template = template;
  }

  /** Opens a report of this data at a position, for example `tab=sites`. */
  async open(data: PageData | string, hash = "", options: BrowserContextOptions = {}): Promise<Page> {
    return this.openText(
      this.textOf(typeof data === "string" ? data : await encodePage(data)),
      hash,
      options,
    );
  }

  textOf(data: string): string {
    return filled(this.#template, data);
  }

  async openText(html: string, hash = "", options: BrowserContextOptions = {}): Promise<Page> {
    const file = join(this.#folder, `${this.#files++}.html`);
    writeFileSync(file, html);
    return this.openFile(file, hash, options);
  }

  async openFile(file: string, hash = "", options: BrowserContextOptions = {}): Promise<Page> {
    const context = await this.#browser.newContext({
      viewport: { width: 1280, height: 900 },
      offline: true,
      reducedMotion: "reduce",
      ...options,
    });
    const page = await context.newPage();
    const address = pathToFileURL(file).href;
    page.on("console", (message) => this.complaints.push(`console: ${message.text()}`));
    page.on("pageerror", (error) => this.complaints.push(`error: ${error.stack}`));
    page.on("dialog", (dialog) => {
      this.complaints.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on("request", (request) => {
      if (request.url().split("#")[0] !== address && !request.url().startsWith("data:"))
        this.complaints.push(`request: ${request.url()}`);
    });
    await page.goto(`${address}#${hash}`);
    await page.waitForSelector(".page, .cannot-show");
    return page;
  }

  async closePages(): Promise<void> {
    for (const context of this.#browser.contexts()) await context.close();
  }

  async close(): Promise<void> {
    await this.#browser.close();
  }
}
