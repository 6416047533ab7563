import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { loadObject } from "../../../src/names/load/objects.ts";
import { Symbolizer } from "../../../src/names/symbolize/symbolizer.ts";

function layersOf(file: string): string[] {
  const { object } = loadObject(fileURLToPath(new URL(`../../fixtures/planted/${file}`, import.meta.url)));
  const code = object.sections.find(({ name }) => name === "code")!;
  const symbolizer = new Symbolizer(object);
  const names = new Set<string>();
  for (let address = code.address; address < code.address + code.size; address++)
    for (const { function: name, handsOutMemory } of symbolizer.frames(address))
      if (handsOutMemory) names.add(name!);
  return [...names].sort();
}

it("a function that is inlined and returns void pointers, or stores one where a parameter says, hands out memory", () => {
  expect(layersOf("c/handed-out-blocks.wasm")).toEqual(["need", "obtain"]);
});

it("a function that copies a text, or as much of one as it is told, hands out memory where it is inlined", () => {
  expect(layersOf("c/mail-filter.wasm")).toEqual(["copy_of", "lower", "xmalloc"]);
});

it("who copies an object is the statement that asks for it, whoever wrote the constructor", () => {
  expect(layersOf("cpp/order-book.wasm").filter((name) => name.startsWith("_ZN5Order"))).toEqual([
    "_ZN5OrderC2EOS_",
    "_ZN5OrderC2ERKS_",
  ]);
});

it("a function that makes something of its own does not, inlined or not", () => {
  expect(layersOf("c/growing-sessions.wasm")).toEqual([]);
});

it("a function that makes a text of several, or of a stretch of one, hands out memory where it is inlined", () => {
  expect(layersOf("c/escaped-pages.wasm")).toEqual(["escape", "joined"]);
  expect(layersOf("c/ini-reader.wasm")).toEqual(["duplicate", "trimmed"]);
});
