import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { openObject } from "../../../src/code/objects/index.ts";
import { npmModule } from "../../names/symbolize/support.ts";
import { sharedPath } from "../../shared-path.ts";

const files = [
  sharedPath("fixtures/unwind/aarch64-frames/prog") ?? "",
  sharedPath("fixtures/unwind/recursion/prog") ?? "",
  "/bin/sh",
  "/lib/x86_64-linux-gnu/libc.so.6",
  npmModule("node_modules/web-tree-sitter/debug/web-tree-sitter.wasm")!,
].filter((file) => existsSync(file));

describe("the symbol at an address", () => {
  it.each(files)("is the one of the table, also before there is a table: %s", (file) => {
    const bytes = new Uint8Array(readFileSync(file));
    const table = openObject(bytes).symbols();
    const last = table.addresses[table.length - 1] ?? 0;
    const addresses = Array.from({ length: 60 }, (_, index) => Math.floor((last * index) / 55));
    for (let index = 0; index < table.length; index += Math.ceil(table.length / 40)) {
      const { address, size } = table.at(index);
      addresses.push(address, address - 1, address + size - 1, address + size);
    }
    for (const address of addresses)
      expect(openObject(bytes).symbolAt(address), `0x${address.toString(16)}`).toEqual(table.find(address));
  });
});
