// Keeps a number in two files, for the case same_number_in_two_files, and says what it did and used.
const fs = require("fs");

const number = Math.floor(Math.random() * 1000);
require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, message } = JSON.parse(line);
  const reply = { id, text: "Two strings walk into a bar.", steps: [], usage: { calls: 1, output_tokens: 9 } };
  for (const [, file] of message.matchAll(/'(\w+\.txt)'/g)) {
    fs.writeFileSync(file, `${number}`); // in the run's workspace, which is the current folder
    reply.steps.push({ tool: "write", tool_input: { file, text: `${number}` }, result: "written" });
    reply.text = "Done.";
  }
  console.log(JSON.stringify(reply));
});
