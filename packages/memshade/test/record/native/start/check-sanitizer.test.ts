import { expect, it } from "vitest";
import { loadObject } from "../../../../src/names/load/objects.ts";
import { checkSanitizer } from "../../../../src/record/native/start/check-sanitizer.ts";

/** An object with these dynamic symbols: names with `!` are defined, the others are undefined. */
function programWith(...names: string[]) {
  const { object } = loadObject(process.execPath);
  const strings = `\0${names.map((name) => name.replace("!", "")).join("\0")}\0`;
  const symbols = new DataView(new ArrayBuffer(24 * (names.length + 1)));
  names.forEach((name, i) => {
    symbols.setUint32(24 * (i + 1), strings.indexOf(`\0${name.replace("!", "")}\0`) + 1, true);
    symbols.setUint16(24 * (i + 1) + 6, name.endsWith("!") ? 1 : 0, true);
  });
  const sections: Record<string, Uint8Array> = {
    ".dynsym": new Uint8Array(symbols.buffer),
    ".dynstr": new TextEncoder().encode(strings),
  };
  return {
    file: "server",
    linker: "",
    object: Object.assign(Object.create(object), { section: (name: string) => sections[name] }),
  };
}

it("a program of a sanitizer is refused with a tool, whose addresses that takes", () => {
  for (const name of ["__asan_init", "__tsan_init!", "__msan_init!", "__hwasan_init"])
    expect(() => checkSanitizer(programWith("malloc", name), true)).toThrow(
      /^server: it was built with \w+Sanitizer, .*; build it without -fsanitize$/,
    );
  expect(() => checkSanitizer(programWith("malloc", "__ubsan_init", "__lsan_init"), true)).not.toThrow();
});

it("without one, it is refused where the sanitizer is a library that must come first", () => {
  expect(() => checkSanitizer(programWith("__asan_init"), false)).toThrow(
    /AddressSanitizer, whose library must be/,
  );
  expect(() => checkSanitizer(programWith("__asan_init!", "__tsan_init"), false)).not.toThrow();
});
