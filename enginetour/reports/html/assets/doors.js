// The list of tournaments: loaded again when one begins or ends.
"use strict";
(() => {
  const place = document.getElementById("doors");
  let source = null;
  const open = () => {
    if (source === null && !document.hidden) {
      source = new EventSource(place.dataset.events);
      source.addEventListener("changed", () => location.reload());
    }
  };
  const close = () => {
    if (source !== null) source.close();
    source = null;
  };
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : location.reload()));
  addEventListener("pagehide", close);
  addEventListener("pageshow", open);
})();
