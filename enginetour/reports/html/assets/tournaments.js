// The list of tournaments. It is reloaded when a tournament is added, starts or ends, and when it is shown again.
"use strict";
{
  const place = document.getElementById("tournaments");
  const reload = (is) => is && location.reload();
  document.addEventListener("visibilitychange", () => reload(!document.hidden));
  window.follow(place.dataset.events, { shown: (state) => reload(state.shown !== place.dataset.shown) });
}
