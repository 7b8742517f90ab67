// Optional functions of report pages: the filter of the list of games, and the highlighted column of a crosstable.
"use strict";
(() => {
  const byId = (id) => document.getElementById(id);

  const filter = byId("filter");
  const games = byId("game-list");
  if (filter && games) {
    const engine = byId("filter-engine");
    const ending = byId("filter-ending");
    const incidents = byId("filter-incidents");
    const count = byId("filter-count");
    const lines = Array.from(games.tBodies[0].rows, (row) => ({
      row,
      white: row.cells[2].textContent,
      black: row.cells[3].textContent,
      ending: row.cells[5].textContent,
      incident: row.cells[8].textContent !== "",
    }));
    const apply = () => {
      let shown = 0;
      for (const line of lines) {
        const fits =
          (!engine.value || line.white === engine.value || line.black === engine.value) &&
          (!ending.value || line.ending === ending.value) &&
          (!incidents.checked || line.incident);
        line.row.hidden = !fits;
        shown += fits;
      }
      count.textContent = shown === lines.length ? "" : `${shown} of ${lines.length} games`;
    };
    for (const control of [engine, ending, incidents]) control.addEventListener("change", apply);
    filter.hidden = false;
    apply();
  }

  for (const table of document.querySelectorAll("table.cross")) {
    const heads = table.tHead.rows[0].cells;
    let lit = null;
    const light = (column) => {
      if (lit) lit.classList.remove("lit");
      lit = column === null ? null : heads[column];
      if (lit) lit.classList.add("lit");
    };
    table.addEventListener("mouseover", (event) => {
      const cell = event.target.closest("td, th");
      light(cell ? cell.cellIndex : null);
    });
    table.addEventListener("mouseleave", () => light(null));
  }
})();
