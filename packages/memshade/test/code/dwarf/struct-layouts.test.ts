import { expect, it } from "vitest";
import { DwarfFile, structLayouts } from "../../../src/code/dwarf/index.ts";
import type { StructLayout } from "../../../src/code/dwarf/struct-layouts.ts";
import { loadObject } from "../../../src/names/load/objects.ts";
import { isInstalled, npmModule, sh, temporaryFolder } from "../../names/symbolize/support.ts";

function layoutsOf(file: string): Map<string, StructLayout> {
  const layouts = structLayouts(new DwarfFile(loadObject(file).object));
  return new Map([...layouts].map((layout) => [layout.name, layout]));
}

it("knows the structs of a module: members in order, inside, with names of types", () => {
  const layouts = layoutsOf(npmModule("node_modules/web-tree-sitter/debug/web-tree-sitter.wasm")!);
  expect(layouts.get("TSPoint")).toEqual({
    name: "TSPoint",
    kind: "struct",
    size: 8,
    members: [
      { name: "row", type: "uint32_t", offset: 0, size: 4 },
      { name: "column", type: "uint32_t", offset: 4, size: 4 },
    ],
  });
  expect(layouts.size).toBeGreaterThan(10);
  for (const { kind, size, members } of layouts.values())
    for (const member of members) {
      expect(member.offset + (member.bitSize === undefined ? (member.size ?? 0) : 0)).toBeLessThanOrEqual(
        size,
      );
      if (kind === "union") expect(member.offset).toBe(0);
    }
});

const hasClang = isInstalled("clang++-22");
if (!hasClang) console.warn("SKIPPED: layouts of C++ classes are not tested: clang++-22 is missing");

it.skipIf(!hasClang)("knows classes, bases, arrays, bit fields and namespaces, in DWARF 4 and 5", () => {
  sh(`cat > layout.cpp <<'END'
namespace zoo {
struct Animal { long id; static int count; };
class Cat : Animal { char name[6]; unsigned tame : 1; unsigned lives : 4; const char* const* toys; };
}
zoo::Cat cat;
END
clang++-22 -g -gdwarf-5 -c layout.cpp -o layout5.o && clang++-22 -g -gdwarf-5 layout.cpp -shared -fPIC -o layout5
clang++-22 -g -gdwarf-4 layout.cpp -shared -fPIC -o layout4`);
  for (const file of ["layout4", "layout5"]) {
    const cat = layoutsOf(`${temporaryFolder()}/${file}`).get("zoo::Cat")!;
    expect(cat).toMatchObject({ kind: "class", size: 24 });
    expect(cat.members.map(({ name, type, offset, size }) => `${offset} ${type} ${name} ${size}`)).toEqual([
      "0 Animal Animal 8",
      "8 char[6] name 6",
      "14 unsigned int tame 4",
      "14 unsigned int lives 4",
      "16 const char* const* toys 8",
    ]);
  }
});
