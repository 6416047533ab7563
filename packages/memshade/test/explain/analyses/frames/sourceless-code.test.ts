import { describe, expect, it } from "vitest";
import { FrameRules } from "../../../../src/explain/analyses/frames/frame-rules.ts";
import { SourcelessCode } from "../../../../src/explain/analyses/frames/sourceless-code.ts";

describe("code without debug information", () => {
  const code = new SourcelessCode(new FrameRules({ own: ["vendor_*"] }));
  code.add("app", "main", "app.c");
  code.add("app", "main", undefined);
  code.add("app", "__stpcpy", undefined);
  code.add("plain", "main", undefined);

  it("is a library where the rest of its module has lines", () => {
    expect(code.libraryOf("app", "__stpcpy", { function: "__stpcpy" })).toBe(
      "code without debug information",
    );
  });

  it("is none where one place of the function has a line, or nothing in the module", () => {
    expect(code.libraryOf("app", "main", { function: "main" })).toBeUndefined();
    expect(code.libraryOf("plain", "main", { function: "main" })).toBeUndefined();
  });

  it("is none where its function has no name, or is called the program's own", () => {
    expect(code.libraryOf("app", "", {})).toBeUndefined();
    expect(code.libraryOf("app", "vendor_read", { function: "vendor_read" })).toBeUndefined();
  });
});
