
// Follows the search's worker: where no section has all words of a query, sections with most of them are found. Words
// that every question has are left out first.
(() => {
  const ask = self.onmessage;
  const tell = self.postMessage.bind(self);
  const MOST_WORDS = 6;
  const COMMON = new Set(
    ("a again an and any are as at be by can could did do does for from get go has have how i if in instead into is it its " +
      "like make me my no not of on once one or our so some than that the their them then there they this to until up use " +
      "using want was what when where whether which while who why will with without you your").split(" "),
  );
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

  const shorter = (words) => {
    const telling = words.filter((word) => !COMMON.has(word.toLowerCase().replace(/[?!.,;]+$/, "")));
    const some = (telling.length ? telling : words).slice(0, MOST_WORDS);
    return some.length < words.length ? [some.join(" "), ...fewer(some)] : fewer(some);
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
      left = /["+:-]/.test(data.input ?? "") ? [] : shorter(words);
    }
    return ask(event);
  };
})();
