/** Packs a text, tests the archive, and unpacks it. */
const workWith7z = async (SevenZip, wasmBinary) => {
  const said = [];
  const seven = await SevenZip({ wasmBinary, print: (line) => said.push(line) });
  const text = Array.from({ length: 4000 }, (_, i) => `line ${i} of ${(i * 7919) % 104_729}\n`).join("");
  seven.FS.writeFile("text.txt", text);
  seven.FS.utime("text.txt", 1e12, 1e12);
  seven.callMain(["a", "-mmt1", "text.7z", "text.txt"]);
  const { length } = seven.FS.readFile("text.7z");
  seven.FS.unlink("text.txt");
  seven.callMain(["x", "text.7z"]);
  return `${length} ${seven.FS.readFile("text.txt", { encoding: "utf8" }) === text} ${said.filter((line) => /Ok/.test(line)).length}`;
};
if (typeof module === "object") module.exports = workWith7z;
