// Runs the site's own search: its worker, its index. Reads a list of queries as JSON, writes the addresses found for each.
const fs = require("node:fs");
const path = require("node:path");
const vm = require("node:vm");

const site = process.argv[2];
const workers = path.join(site, "assets", "javascripts", "workers");
const [worker] = fs.readdirSync(workers).filter((name) => name.startsWith("search."));
const answers = [];
let received = null;
const self = { postMessage: (message) => received(message) };
const context = vm.createContext({ self, Intl, URL, structuredClone, console });
vm.runInContext(fs.readFileSync(path.join(workers, worker), "utf8"), context);

const ask = (message) =>
  new Promise((resolve) => {
    received = resolve;
    self.onmessage({ data: message });
  });

(async () => {
  const index = JSON.parse(fs.readFileSync(path.join(site, "search.json"), "utf8"));
  await ask({ type: 0, data: index });
  for (const input of JSON.parse(fs.readFileSync(0, "utf8"))) {
    const { data } = await ask({ type: 2, data: { input } });
    answers.push(data.items.map((item) => index.items[item.id].location));
  }
  process.stdout.write(JSON.stringify(answers));
})();
