require("./work.cjs")(require("jq-web")).then(console.log);
