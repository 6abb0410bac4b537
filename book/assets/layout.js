// Lays out the blocks that wait (book.css) from the top, for some milliseconds at a time.
addEventListener("load", () => {
  const waiting = [...document.querySelectorAll(".bd-article section:not(.mha-widget *) > :not(section, h1, h2, h3, .margin)")];
  const next = () => {
    const end = performance.now() + 8; // milliseconds
    while (waiting.length && performance.now() < end) {
      const block = waiting.shift();
      block.classList.add("mha-laid-out");
      block.getBoundingClientRect(); // asks for its layout, so that its time counts
    }
    if (waiting.length) setTimeout(next);
  };
  setTimeout(next);
});
