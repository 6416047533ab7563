import { describe, expect, it } from "vitest";
import { wastePlace } from "../../../src/explain/findings/places.ts";

const CPP = "the C++ library";

describe("the place of a finding of waste", () => {
  it("begins with the program's own frame, and has the library's function that it called", () => {
    const place = wastePlace([
      {
        address: 16,
        function: "memmove",
        library: "the C library",
        inlined: [
          { function: "std::vector<int>::insert(int)", library: CPP },
          { function: "load", file: "load.cc", line: 7 },
        ],
      },
      { address: 32, function: "main", file: "main.cc", line: 3 },
    ]);
    expect(place).toEqual({
      path: [
        { function: "load", file: "load.cc", line: 7 },
        { function: "main", file: "main.cc", line: 3, module: undefined, address: 32 },
      ],
      via: { function: "std::vector<int>::insert(int)", file: undefined, line: undefined },
    });
  });

  it("is none in a library alone, and none in code without names", () => {
    expect(wastePlace([{ address: 16, function: "memmove", library: "the C library" }])).toBeUndefined();
    expect(wastePlace([{ address: 16, function: "func[3]" }])).toBeUndefined();
    expect(wastePlace([])).toBeUndefined();
  });
});
