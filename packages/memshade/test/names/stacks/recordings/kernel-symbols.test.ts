import { describe, expect, it } from "vitest";
import { KernelNamer, KernelSymbols } from "../../../../src/names/stacks/recordings/kallsyms.ts";

const textOf = (text: string) => new TextEncoder().encode(text);

const TEXT = `0000000000000000 A fixed_percpu_data
ffffffff81000000 T _stext
ffffffff81000000 T _text
ffffffff81000010 t do_one_initcall
ffffffff81000400 W arch_something
ffffffff81200000 D some_data
ffffffffc0000000 t nft_do_chain\t[nf_tables]
`;

describe("the symbols of a kernel", () => {
  it("name its functions and those of its modules, and pass over data", () => {
    const symbols = KernelSymbols.parse(textOf(TEXT), undefined)!;
    expect(symbols.at("ffffffff8100001f")).toEqual({
      name: "do_one_initcall",
      offset: 15,
      module: undefined,
    });
    expect(symbols.at("ffffffff81200001")).toMatchObject({ name: "arch_something" });
    expect(symbols.at("ffffffffc0000004")).toEqual({ name: "nft_do_chain", offset: 4, module: "nf_tables" });
    expect(symbols.at("ffffffff80ffffff")).toBeUndefined();
  });

  it("give the last of several names of one address", () => {
    expect(KernelSymbols.parse(textOf(TEXT), undefined)!.at("ffffffff81000000")?.name).toBe("_text");
  });

  it("move with the kernel, which lies elsewhere after every start", () => {
    const recordedAt = 0xffff_ffff_9a00_0000 - 2 ** 64;
    const symbols = KernelSymbols.parse(textOf(TEXT), { symbol: "_text", address: recordedAt })!;
    expect(symbols.at("ffffffff9a000018")).toEqual({ name: "do_one_initcall", offset: 8, module: undefined });
  });

  it("are found in any order of the lines, without what is damaged", () => {
    const lines = TEXT.trimEnd().split("\n");
    const damaged = ["", "ffffffff8100001", "ffffffff8100001g T broken", "ffffffff81000011T joined", "T"];
    const symbols = KernelSymbols.parse(textOf([...lines.reverse(), ...damaged].join("\n")), undefined)!;
    expect(symbols.at("ffffffff8100001f")?.name).toBe("do_one_initcall");
    expect(symbols.at("ffffffffc0000004")).toEqual({ name: "nft_do_chain", offset: 4, module: "nf_tables" });
    expect(symbols.at("ffffffff81000000")?.name).toBe("_stext");
  });

  it("are none where the kernel hides its addresses", () => {
    const hidden = TEXT.replaceAll(/^[0-9a-f]{16}/gm, "0".repeat(16));
    expect(KernelSymbols.parse(textOf(hidden), undefined)).toBeUndefined();
  });

  it("are loaded once, when the first is asked for", () => {
    const loads: unknown[] = [];
    const namer = new KernelNamer((reference) => {
      loads.push(reference);
      return KernelSymbols.parse(textOf(TEXT), reference);
    });
    expect(loads).toEqual([]);
    expect(namer.name("ffffffff81000010", undefined)?.name).toBe("do_one_initcall");
    expect(namer.name("ffffffff81000001", undefined)?.name).toBe("_text");
    expect(loads).toEqual([undefined]);
  });
});
