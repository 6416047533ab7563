import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { loadDemangler } from "../../../src/names/load/demangler.ts";
import { loadSymbolizer } from "../../../src/names/load/symbolizer.ts";

const variablesOf = (name: string) =>
  loadSymbolizer(fileURLToPath(new URL(`../../fixtures/programs/debug/${name}.wasm`, import.meta.url)), {
    demangle: loadDemangler(),
  }).dataVariables();

describe("the variables with addresses of their own", () => {
  it("have names as in the source, sizes, and where they are declared", () => {
    expect(variablesOf("c-blocks")).toEqual([
      { name: "top", address: 65536, bytes: 4, linkageName: undefined, file: "./debug/c-blocks.c", line: 5 },
      {
        name: "sink",
        address: 65540,
        bytes: 4,
        linkageName: undefined,
        file: "./debug/c-blocks.c",
        line: 44,
      },
      {
        name: "start::holder",
        address: 65544,
        bytes: 8,
        linkageName: undefined,
        file: "./debug/c-blocks.c",
        line: 79,
      },
    ]);
  });

  it("of C++ have the linker's names too", () => {
    expect(variablesOf("blocks").map(({ name, linkageName }) => [name, linkageName])).toEqual([
      ["top", "_ZL3top"],
      ["sink", "_ZL4sink"],
    ]);
  });

  it("are those of all units, literals without names among them", () => {
    const variables = variablesOf("lines");
    expect(variables.find(({ name }) => name === "_gm_")).toMatchObject({ address: 68160, bytes: 472 });
    expect(variables.find(({ name }) => name === undefined)).toMatchObject({ bytes: 4, line: 32 });
  });
});
