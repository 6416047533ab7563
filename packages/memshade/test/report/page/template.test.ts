import { deflateRawSync } from "node:zlib";
import { expect, it } from "vitest";
import { reportPage } from "../../../scripts/report-page.ts";

const page = await reportPage();

it("has a place for the data, the text and the title, one each", () => {
  for (const place of ["{{title}}", "{{text}}", "{{data}}"]) expect(page.split(place).length).toBe(2);
});

it("names no other file and no address", () => {
  const addresses = page
    .replaceAll("http://www.w3.org/", "")
    .match(/https?:[^;,]{0,40}|@import|url\(|\bsrc="/g);
  expect(addresses).toBeNull();
});

it("ends its script where it ends, and is the same when it is made again", async () => {
  expect(page.match(/<\/script/gi)?.length).toBe(2);
  expect((await reportPage()) === page).toBe(true);
});

it("is small", () => {
  expect(page.length).toBeLessThan(150 * 1024);
  expect(deflateRawSync(page).length).toBeLessThan(50 * 1024);
});
