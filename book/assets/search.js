// Ranks what search finds. Its documents are sections (see _ext/sections.py): those with most words of the
// question come first, and among them those that have the rare words, and have them in their heading.
// Sphinx puts this in front of its own script, which has then run before a microtask does.
queueMicrotask(() => {
  const { max, log } = Math;
  const plain = Search.htmlToText;

  // A formula is said once: its TeX, which stands beside it, is left out of a summary.
  Search.htmlToText = (page, place) => plain(page.replace(/<annotation[^]*?<\/annotation>/g, ""), place);

  function alike(index, word) {
    if (Object.hasOwn(index, word)) return [word];
    return word.length > 2 ? Object.keys(index).filter((term) => term.includes(word)) : [];
  }

  Search._performSearch = (_query, words) => {
    const { docnames, filenames, titles, terms, titleterms } = Search._index;
    const found = docnames.map(() => ({ words: 0, score: 0 }));
    for (const word of words) {
      const worth = new Map();
      for (const [index, full] of [[terms, 1], [titleterms, 3]]) {
        for (const term of alike(index, word)) {
          const value = term === word ? full : full / 2;
          for (const i of [index[term]].flat()) worth.set(i, max(worth.get(i) ?? 0, value));
        }
      }
      const rare = log(1 + docnames.length / (1 + worth.size));
      for (const [i, value] of worth) {
        found[i].words += 1;
        found[i].score += rare * value;
      }
    }
    const most = max(1, ...found.map((section) => section.words));
    return found
      .map(({ words: n, score }, i) => {
        const [page, place] = docnames[i].split("#");
        return n === most && [page, titles[i], place ? `#${place}` : "", null, score, filenames[i]];
      })
      .filter(Boolean)
      .sort((a, b) => a[4] - b[4] || b[1].length - a[1].length); // the best is shown first, from the end
  };
});
