// The list of tournaments: loaded again when another is there, begins or ends.
"use strict";
(() => {
  const place = document.getElementById("doors");
  const AGAIN_MS = 5000; // after an answer that is no stream
  let source = null;
  let later = 0;
  const close = () => {
    clearTimeout(later);
    if (source !== null) source.close();
    source = null;
  };
  const open = () => {
    clearTimeout(later);
    if (source !== null || document.hidden) return;
    source = new EventSource(place.dataset.events);
    source.addEventListener("shown", (event) => {
      if (JSON.parse(event.data).shown !== place.dataset.shown) location.reload();
    });
    source.addEventListener("error", () => {
      if (source !== null && source.readyState === EventSource.CLOSED) {
        close();
        later = setTimeout(open, AGAIN_MS);
      }
    });
  };
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : location.reload()));
  addEventListener("pagehide", close);
  addEventListener("pageshow", open);
})();
