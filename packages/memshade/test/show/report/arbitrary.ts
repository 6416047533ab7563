import fc from "fast-check";
import { heapPicture, profileOfPicture } from "../../heap-picture.ts";

const name = fc.constantFrom(
  "main",
  "parse",
  "std::vector<int, std::allocator<int> >::push_back(int const&)",
  "<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop",
  "a_function_with_a_name_that_is_longer_than_any_line_of_the_report_could_ever_be_in_eighty_columns",
  "文字列を割り当てる関数の長い名前",
  "red\u001b[31m",
  "lib!open",
  "^lib!malloc",
  "?",
);

const fact = fc.nat(3);

const row = fc
  .record({
    frames: fc.array(name, { maxLength: 14 }),
    blocks: fc.integer({ min: 1, max: 40 }),
    size: fc.constantFrom(1, 8, 100, 70_000, 2 ** 30),
    life: fc.constantFrom(0, 1, 2, 1000, 10 ** 9),
    access: fc.constantFrom(0, 1, 12_345, 10 ** 12),
    peak: fact,
    live: fc.nat(1),
    unused: fact,
    unread: fact,
    touched: fact,
  })
  .map(({ frames, blocks, size, ...facts }) => {
    const words = Object.entries(facts).map(([key, value]) => `${key} ${value}`);
    return `${frames.length === 0 ? "-" : frames.join(" > ")}  ${blocks} x ${size}  ${words.join("  ")}`;
  });

const sentence = fc.constantFrom(
  "Stores of the function env.fill are not counted.",
  `A${"very".repeat(30)}longword is not counted.`,
  "文字".repeat(60),
);

/** Profiles of any shape: deep and shallow stacks, long and foreign names, recursion, several modules. */
export const heapProfile = fc
  .tuple(fc.array(row, { maxLength: 12 }), fc.array(sentence, { maxLength: 15 }), fc.boolean())
  .map(([rows, notTracked, wall]) => {
    const { run } = heapPicture("");
    const clock = wall ? { kind: "wall" as const, unit: "ms" } : run.tools.heap!.clock;
    const tools = { heap: { ...run.tools.heap!, clock } };
    return profileOfPicture(rows.join("\n"), { notTracked, tools });
  });
