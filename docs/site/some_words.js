
// Follows the search's worker: where no section has all words of a query, sections with most of them are found.
(() => {
  const ask = self.onmessage;
  const tell = self.postMessage.bind(self);
  const MOST_WORDS = 6;
  let asked = null;
  let left = [];

  // The words without one of them, then without two, and so on; the first words stay longest.
  const fewer = (words) => {
    const found = [];
    let level = [words];
    while (level[0].length > 1) {
      const next = level.flatMap((some) => some.map((_, at) => some.filter((_, other) => other !== at)).reverse());
      level = [...new Map(next.map((some) => [some.join(" "), some])).values()];
      found.push(...level.map((some) => some.join(" ")));
    }
    return found;
  };

  self.postMessage = (message) => {
    if (message.type !== 3 || message.data.items.length || !left.length) {
      tell(message);
    } else {
      ask({ data: { type: 2, data: { ...asked, input: left.shift() } } });
    }
  };
  self.onmessage = (event) => {
    const { type, data } = event.data;
    if (type === 2) {
      const words = (data.input ?? "").trim().split(/\s+/);
      asked = data;
      left = words.length <= MOST_WORDS && !/["'+:-]/.test(data.input ?? "") ? fewer(words) : [];
    }
    return ask(event);
  };
})();
