// Server-sent events: `follow` opens the stream of a page, and opens it again after an interruption. Browsers have six
// connections to a host, so a hidden page closes its stream after a while.
"use strict";
window.follow = (url, acts, connected = () => {}) => {
  const RETRY_MS = 5000; // after an answer that is not an event stream
  const HIDDEN_MS = 10000;
  let source = null;
  let timer = 0;
  const close = () => {
    clearTimeout(timer);
    if (source !== null) source.close();
    source = null;
  };
  const open = () => {
    clearTimeout(timer);
    if (source !== null || document.hidden) return;
    source = new EventSource(url);
    for (const [name, act] of Object.entries(acts)) source.addEventListener(name, (event) => act(JSON.parse(event.data)));
    source.addEventListener("open", () => connected(true));
    source.addEventListener("error", () => {
      connected(false);
      if (source !== null && source.readyState === EventSource.CLOSED) {
        close();
        timer = setTimeout(open, RETRY_MS);
      }
    });
  };
  document.addEventListener("visibilitychange", () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(close, HIDDEN_MS);
    else open();
  });
  addEventListener("pagehide", close);
  addEventListener("pageshow", open);
};
