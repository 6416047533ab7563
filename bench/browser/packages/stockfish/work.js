/** Counts the positions that follow one, which a thread of the engine does. */
globalThis.workWithStockfish = async (Stockfish) => {
  const engine = await Stockfish();
  const said = [];
  const nodes = new Promise((done) => {
    engine.addMessageListener((line) => {
      said.push(line);
      if (line.startsWith("Nodes searched")) done();
    });
  });
  for (const command of [
    "uci",
    "setoption name Threads value 3",
    "ucinewgame",
    "position startpos moves e2e4",
    "go perft 3",
  ])
    engine.postMessage(command);
  await nodes;
  return said.filter((line) => /^Nodes|^[a-h]\d[a-h]\d/.test(line)).join(" ");
};
