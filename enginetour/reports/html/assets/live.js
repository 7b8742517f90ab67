// The live page: boards, clocks, standings and last games, updated by server-sent events. Text from engines is inserted
// as text, never as HTML. The size of the page is limited: one board for each slot, and a fixed number of lines.
"use strict";
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const LINES = 30; // the number of lines that the server keeps
  const SQUARE = 45; // units of a square, as python-chess draws pieces
  const STEEPNESS = 0.00368208; // of expected points by centipawns, as on the page of a game: lichess.org/page/accuracy
  const TICK_MS = 100;
  const byId = (id) => document.getElementById(id);
  const live = byId("live");
  const root = live.dataset.root;

  const make = (name, attributes, ...children) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
    made.append(...children);
    return made;
  };
  const draw = (name, attributes) => {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };
  const setText = (element, text) => {
    if (element.textContent !== text) element.textContent = text;
  };

  // The drawings of the pieces, shared by all boards.
  const drawn = Object.values(window.chessPieces).join("");
  const parsed = new DOMParser().parseFromString(`<svg xmlns="${SVG}"><defs>${drawn}</defs></svg>`, "image/svg+xml");
  const store = document.importNode(parsed.documentElement, true);
  for (const [key, value] of [["width", "0"], ["height", "0"], ["aria-hidden", "true"], ["focusable", "false"]]) store.setAttribute(key, value);
  store.classList.add("pieces");
  document.body.append(store);

  const formatClock = (ms) => {
    const rest = Math.max(0, ms);
    const seconds = Math.floor(rest / 1000);
    const two = (number) => String(number).padStart(2, "0");
    if (seconds >= 3600) return `${Math.floor(seconds / 3600)}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
    const tenth = seconds < 20 ? `.${Math.floor(rest / 100) % 10}` : "";
    return `${Math.floor(seconds / 60)}:${two(seconds % 60)}${tenth}`;
  };
  const expectedPoints = (score) => (100 * (2 / (1 + Math.exp(-STEEPNESS * score)) - 1)).toFixed(1);
  const formatNodes = (nodes) => (nodes >= 1e6 ? `${(nodes / 1e6).toFixed(1)} M` : nodes >= 1e4 ? `${Math.round(nodes / 1e3)} k` : String(nodes));

  class Game {
    constructor(slot) {
      this.slot = slot;
      this.squares = new Map(); // square -> [letter, element]
      this.marks = [];
      this.scores = [];
      this.title = make("h3");
      this.sides = [0, 1].map(() => ({ name: make("bdi"), clock: make("span", { class: "clock" }) }));
      this.extra = [make("span", { class: "muted" }), make("span", { class: "muted" })];
      this.board = this.drawBoard();
      this.searches = [0, 1].map((side) => {
        const parts = { who: make("dt"), score: make("dd", { class: "score" }), depth: make("dd"), spent: make("dd"), pv: make("dd", { class: "pv" }) };
        parts.list = make("dl", { class: "search" }, parts.who, parts.score, parts.depth, parts.spent, parts.pv);
        parts.who.classList.add(side ? "key-black" : "key-white");
        return parts;
      });
      this.curve = draw("svg", { class: "curve", viewBox: "0 -100 100 200", preserveAspectRatio: "none", role: "img", "aria-label": "evaluations of both engines, from White's side" });
      this.curve.append(draw("line", { class: "zero", x1: 0, x2: 100, y1: 0, y2: 0 }));
      this.lines = ["white", "black"].map((side) => draw("polyline", { class: side, points: "" }));
      this.curve.append(...this.lines);
      this.movetext = make("p", { class: "movetext" });
      this.opening = make("p", { class: "muted" });
      const [white, black] = this.sides.map((side) => make("div", { class: "side" }, side.name, side.clock));
      const left = make("div", {}, black, this.extra[1], this.board, white, this.extra[0]);
      const right = make("div", {}, this.searches[0].list, this.searches[1].list, this.curve, this.movetext, this.opening);
      this.element = make("article", { class: "game", "data-slot": slot }, this.title, left, right);
    }

    drawBoard() {
      const board = draw("svg", { class: "board", viewBox: `0 0 ${8 * SQUARE} ${8 * SQUARE}`, role: "img" });
      board.append(draw("rect", { class: "light", width: 8 * SQUARE, height: 8 * SQUARE }));
      let path = "";
      for (let place = 0; place < 64; place += 1) {
        if ((place + (place >> 3)) % 2) path += `M${(place & 7) * SQUARE} ${(place >> 3) * SQUARE}h${SQUARE}v${SQUARE}h-${SQUARE}z`;
      }
      board.append(draw("path", { class: "dark", d: path }));
      for (let place = 0; place < 8; place += 1) {
        board.append(draw("text", { x: place * SQUARE + 38, y: 8 * SQUARE - 4 }));
        board.lastChild.textContent = "abcdefgh"[place];
        board.append(draw("text", { x: 3, y: place * SQUARE + 12 }));
        board.lastChild.textContent = String(8 - place);
      }
      return board;
    }

    static corner(square) {
      return [(square.charCodeAt(0) - 97) * SQUARE, (8 - Number(square[1])) * SQUARE];
    }

    place(placement, last) {
      const wanted = new Map();
      placement.split("/").forEach((rank, row) => {
        let file = 0;
        for (const letter of rank) {
          if (letter >= "1" && letter <= "8") file += Number(letter);
          else wanted.set(String.fromCharCode(97 + file++) + (8 - row), letter);
        }
      });
      for (const mark of this.marks) mark.remove();
      this.marks = last.map((square, index) => {
        const [x, y] = Game.corner(square);
        return draw("rect", { class: index === last.length - 1 ? "to" : "from", x, y, width: SQUARE, height: SQUARE });
      });
      this.board.children[1].after(...this.marks);
      for (const [square, [letter, element]] of this.squares) {
        if (wanted.get(square) !== letter) {
          element.remove();
          this.squares.delete(square);
        }
      }
      for (const [square, letter] of wanted) {
        if (!this.squares.has(square)) {
          const [x, y] = Game.corner(square);
          const element = draw("use", { href: `#piece-${letter}`, x, y });
          this.board.append(element);
          this.squares.set(square, [letter, element]);
        }
      }
    }

    show(state) {
      if (state.begun !== this.begun) this.scores = [];
      state.graph.forEach((score, index) => (this.scores[state.ply - state.graph.length + index] = score));
      this.begun = state.begun;
      this.state = state;
      this.since = performance.now() - 1000 * state.since;
      setText(this.title, `${state.white} – ${state.black}`);
      this.sides.forEach((side, index) => {
        setText(side.name, index ? state.black : state.white);
        side.name.title = `${index ? "Black" : "White"}, ${state.tc[index]}`;
        setText(this.extra[index], state.extra[index] || "");
      });
      this.place(state.placement, state.last);
      const move = state.moves ? `, last moves ${state.moves.split(" ").slice(-3).join(" ")}` : "";
      this.board.setAttribute("aria-label", `${state.white} against ${state.black}, ${state.turn} to move${move}`);
      state.searches.forEach((search, index) => {
        const parts = this.searches[index];
        setText(parts.who, index ? state.black : state.white);
        setText(parts.score, search ? search.score || "–" : "–");
        setText(parts.depth, search && search.depth !== null ? `depth ${search.depth}` : "");
        const spent = search && search.ms !== null ? `${(search.ms / 1000).toFixed(search.ms < 10000 ? 2 : 1)} s` : "";
        setText(parts.spent, spent + (search && search.nodes !== null ? ` · ${formatNodes(search.nodes)} nodes` : ""));
        setText(parts.pv, search ? search.pv : "");
      });
      this.drawCurve(state.first);
      setText(this.movetext, state.moves);
      const parts = [state.opening, state.variant, state.tc[0] === state.tc[1] ? state.tc[0] : state.tc.join(" and ")];
      if (state.over) parts.push("the game has ended");
      if (state.incomplete) parts.push("moves are missing, so the board stops until the next game");
      setText(this.opening, parts.filter(Boolean).join(" · "));
      this.tick();
      this.element.dataset.at = state.at;
      this.element.dataset.ply = state.ply; // set last, so that an observer finds everything else up to date
    }

    drawCurve(first) {
      const wide = Math.max(40, this.scores.length - 1);
      for (const side of [0, 1]) {
        const points = [];
        for (let ply = (side + (first === "black")) % 2; ply < this.scores.length; ply += 2) {
          const score = this.scores[ply];
          if (score !== null && score !== undefined) points.push(`${((100 * ply) / wide).toFixed(2)},${expectedPoints(-score)}`);
        }
        this.lines[side].setAttribute("points", points.join(" "));
      }
    }

    tick() {
      const state = this.state;
      const spent = performance.now() - this.since;
      state.clocks.forEach((ms, index) => {
        const runs = !state.over && running && (state.turn === "black") === (index === 1);
        const clock = this.sides[index].clock;
        clock.classList.toggle("runs", runs);
        if (ms === null) setText(clock, runs ? `${(spent / 1000).toFixed(1)} s` : "");
        else setText(clock, formatClock(runs ? ms - spent : ms));
      });
    }
  }

  const games = new Map();
  let running = false;

  const board = (slot, state) => {
    const key = String(slot);
    if (!games.has(key)) {
      games.set(key, new Game(key));
      const order = [...games.keys()].sort((one, other) => one - other);
      byId("boards").replaceChildren(...order.map((name) => games.get(name).element));
    }
    games.get(key).show(state);
    byId("boards").classList.toggle("one", games.size === 1);
    byId("silence").hidden = true;
  };

  const engine = (row) => (row.slug ? make("a", { href: `${root}engines/${row.slug}.html` }, make("bdi", {}, row.name)) : make("bdi", {}, row.name));
  const cell = (value) => (value === null || value === undefined ? "" : String(value));
  const table = (state) => {
    const body = byId("table").tBodies[0];
    const rows = state.rows || [];
    while (body.rows.length > rows.length) body.rows[body.rows.length - 1].remove();
    rows.forEach((row, index) => {
      if (index >= body.rows.length) {
        const made = make("tr", {}, ...["n", "", "n", "n wide", "n", "n", "n", "", "n wide"].map((kind) => make("td", { class: kind })));
        made.cells[1].replaceWith(make("th", { scope: "row" }));
        body.append(made);
      }
      const line = body.rows[index];
      if (line.cells[1].textContent !== row.name) line.cells[1].replaceChildren(engine(row));
      const values = [row.rank, null, row.points, row.games, row.elo, row.plus, row.minus, row.status, row.incidents || ""];
      values.forEach((value, column) => {
        if (column !== 1) setText(line.cells[column], cell(value));
      });
    });
    if (byId("decisions") && state.decisions) byId("decisions").replaceChildren(...state.decisions.map(decision).reverse());
  };
  const decision = (line) => make("li", {}, make("span", { class: "muted" }, `Round robin ${line.step}:`), " ", line.text);

  const gameLink = (number) => make("a", { href: `${root}games/${number}.html` }, `game ${number}`);
  const put = (list, line) => {
    list.prepend(line);
    while (list.children.length > LINES) list.lastElementChild.remove();
  };
  const gameLine = (line) => {
    const names = [make("bdi", {}, line.white), " – ", make("bdi", {}, line.black), " "];
    const notes = byId("decisions") ? [] : line.decisions.map((text) => make("span", { class: "decision" }, text));
    put(byId("games"), make("li", {}, gameLink(line.number), " ", ...names, make("strong", {}, line.result), " ", make("span", { class: "muted" }, line.cause), ...notes));
  };
  const incidentLine = (line) => {
    const where = line.game ? [gameLink(line.game), " "] : [];
    put(byId("incidents"), make("li", {}, ...where, make("bdi", {}, line.engine), line.engine ? " " : "", line.text));
  };

  const clockTime = (seconds) => new Date(Date.now() + 1000 * seconds).toLocaleString("en-GB", { weekday: "short", hour: "2-digit", minute: "2-digit" });
  const progress = (state) => {
    if (state.games_done === undefined) return;
    const [fewest, most] = state.remaining.map((count) => state.games_done + count);
    const count = state.open_ended ? `${state.games_done} games, no game limit` : `${state.games_done} of ${fewest === most ? fewest : `${fewest}–${most}`} games`;
    const undecided = state.state === "finished" && state.sprt && !state.sprt.verdict ? " without a verdict" : "";
    const parts = [state.system, state.state + undecided, count];
    if (state.round) parts.splice(2, 0, `round ${state.round[0]} of ${state.round[1]}`);
    if (state.slots > 1) parts.push(`concurrency ${state.slots}`);
    if (typeof state.eta === "number" && most > state.games_done) {
      const end = clockTime(state.eta);
      const [first, last] = (state.eta_range || [state.eta, state.eta]).map((seconds) => clockTime(seconds).replace(end.split(" ")[0], "").trim());
      parts.push(`ends ${end}${first === last ? "" : ` (${first} to ${last})`}`);
    }
    if (state.incidents) parts.push(state.incidents === 1 ? "1 incident" : `${state.incidents} incidents`);
    setText(byId("headline"), parts.join(" · "));
    const warnings = running ? state.warnings || [] : [];
    setText(byId("banner"), warnings.length ? `Warning: ${warnings.join(" · ")}` : "");
    byId("banner").hidden = !warnings.length;
  };

  const forecast = (state) => {
    byId("outlook").hidden = !state.rows;
    if (!state.rows) return;
    setText(byId("forecast"), `${state.title[0].toUpperCase()}${state.title.slice(1)}`);
    const kind = (index) => ({ class: state.columns[index].left ? "" : "n" });
    const made = byId("forecast-table");
    made.tHead.replaceChildren(make("tr", {}, ...state.columns.map((column, index) => make("th", { scope: "col", ...kind(index) }, column.header))));
    const cells = (row) => row.map((text, index) => (index ? make("td", kind(index), text) : make("th", { scope: "row" }, make("bdi", {}, text))));
    made.tBodies[0].replaceChildren(...state.rows.map((row) => make("tr", {}, ...cells(row))));
    byId("forecast-notes").replaceChildren(...state.notes.map((text) => make("li", {}, text)));
  };

  const all = (state) => {
    running = state.running;
    for (const [slot, game] of games) {
      if (!(slot in state.games)) {
        game.element.remove();
        games.delete(slot);
      }
    }
    byId("silence").hidden = games.size > 0 || running;
    for (const [slot, game] of Object.entries(state.games)) board(slot, game);
    progress(state.progress);
    forecast(state.forecast);
    table(state.table);
    byId("games").replaceChildren();
    state.lines.forEach(gameLine);
    byId("incidents").replaceChildren();
    state.incidents.forEach(incidentLine);
  };

  const acts = { all, board: (state) => board(state.slot, state), table, progress, forecast, "game-line": gameLine, "incident-line": incidentLine };
  const lost = "The connection is lost. This page shows the last known state and tries to connect again.";
  window.follow(live.dataset.events, acts, (connected) => setText(byId("line"), connected ? "" : lost));
  setInterval(() => {
    if (!document.hidden && running) for (const game of games.values()) game.tick();
  }, TICK_MS);
})();
