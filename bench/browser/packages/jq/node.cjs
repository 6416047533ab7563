// What a program of a page is called. Emscripten copies it into the memory, twice and more.
process.argv[1] = "./this.program";
require("./work.cjs")(require("jq-web")).then(console.log);
