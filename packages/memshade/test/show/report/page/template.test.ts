import { createHash } from "node:crypto";
import { deflateRawSync } from "node:zlib";
import { expect, it } from "vitest";
import { reportPage } from "../../../../scripts/report-page.ts";
import { inflated } from "../../../../src/show/report/page/data/inflate.ts";

const page = await reportPage();

async function added(name: "style" | "script"): Promise<string> {
  const stored = page.match(new RegExp(`id="app-${name}">([^<]+)<`))![1];
  return new TextDecoder().decode(await inflated(stored, "deflate"));
}

it("has a place for the data, the text and the title, one each", () => {
  for (const place of ["{{title}}", "{{text}}", "{{data}}"]) expect(page.split(place).length).toBe(2);
});

it("names no other file and no address", async () => {
  const addresses = [page, await added("style"), await added("script")]
    .join("\n")
    .replaceAll("http://www.w3.org/", "")
    .match(/https?:[^;,]{0,40}|@import|url\(|\bsrc="/g);
  expect(addresses).toBeNull();
});

it("allows the scripts and styles that it has, and nothing else", async () => {
  const [, start] = page.match(/<script>([^<]+)<\/script>/)!;
  const hash = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
  expect(page).toContain(`script-src ${hash(start)} ${hash(await added("script"))};`);
  expect(page).toContain(`style-src ${hash(await added("style"))};`);
  expect(page).not.toMatch(/unsafe-|<style/);
});

it("ends its scripts where they end, and is the same when it is made again", async () => {
  expect(page.match(/<\/script/gi)?.length).toBe(4);
  expect((await reportPage()) === page).toBe(true);
});

it("is small", () => {
  expect(page.length).toBeLessThan(90 * 1024);
  expect(deflateRawSync(page).length).toBeLessThan(60 * 1024);
});
