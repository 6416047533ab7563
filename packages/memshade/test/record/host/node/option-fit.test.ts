import { expect, it } from "vitest";
import { OptionFit } from "../../../../src/record/host/node/option-fit.ts";

it("--allocator is a mistake only where it fits none of the modules, by the first reason", () => {
  const none = new OptionFit();
  expect(none.mistake).toBeUndefined();
  none.take('--allocator: the module has no function "a"');
  none.take("--allocator: #9 is imported");
  expect(none.mistake).toMatch(/^--allocator: the module has no function "a"\. --allocator fits no module/);

  const one = new OptionFit();
  one.take('--allocator: the module has no function "a"');
  one.take(undefined);
  one.take("--allocator: #9 is imported");
  expect(one.mistake).toBeUndefined();
});
