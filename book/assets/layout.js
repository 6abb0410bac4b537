// Lays out the sections that wait (book.css), one at a time, when the browser has nothing else to do.
addEventListener("load", () => {
  const waiting = [...document.querySelectorAll(".bd-article > section > section")];
  const idle = globalThis.requestIdleCallback ?? setTimeout;
  const next = () => {
    waiting.shift()?.classList.add("mha-laid-out");
    if (waiting.length) idle(next);
  };
  idle(next);
});
