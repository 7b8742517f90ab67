// The list of tournaments. It is reloaded when a tournament is added, starts or ends.
"use strict";
(() => {
  const place = document.getElementById("tournaments");
  const RETRY_MS = 5000; // after an answer that is not an event stream
  let source = null;
  let retry = 0;
  const close = () => {
    clearTimeout(retry);
    if (source !== null) source.close();
    source = null;
  };
  const open = () => {
    clearTimeout(retry);
    if (source !== null || document.hidden) return;
    source = new EventSource(place.dataset.events);
    source.addEventListener("shown", (event) => {
      if (JSON.parse(event.data).shown !== place.dataset.shown) location.reload();
    });
    source.addEventListener("error", () => {
      if (source !== null && source.readyState === EventSource.CLOSED) {
        close();
        retry = setTimeout(open, RETRY_MS);
      }
    });
  };
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : location.reload()));
  addEventListener("pagehide", close);
  addEventListener("pageshow", open);
})();
