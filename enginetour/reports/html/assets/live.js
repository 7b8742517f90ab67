// The live page: boards, clocks, table and last games, told by server-sent events. Whatever engines say is set as text.
// Nothing grows: a board for each slot, rows for the table, a fixed number of lines.
"use strict";
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const LINES = 30; // as the server keeps
  const SQUARE = 45; // units, as python-chess draws pieces
  const BEND = 0.00368208; // a centipawn in the curve of chances, as on a game's page: lichess.org/page/accuracy
  const AWAY_MS = 10000; // hidden for so long: the connection is given back, the page is told all when it returns
  const AGAIN_MS = 5000; // after an answer that is no stream
  const TICK_MS = 100;
  const at = (id) => document.getElementById(id);
  const live = at("live");
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
  const say = (element, words) => {
    if (element.textContent !== words) element.textContent = words;
  };

  // Pieces, once for all boards.
  const drawn = Object.values(window.chessPieces).join("");
  const parsed = new DOMParser().parseFromString(`<svg xmlns="${SVG}"><defs>${drawn}</defs></svg>`, "image/svg+xml");
  const store = document.importNode(parsed.documentElement, true);
  for (const [key, value] of [["width", "0"], ["height", "0"], ["aria-hidden", "true"], ["focusable", "false"]]) store.setAttribute(key, value);
  store.classList.add("pieces");
  document.body.append(store);

  const clockWords = (ms) => {
    const rest = Math.max(0, ms);
    const seconds = Math.floor(rest / 1000);
    const two = (number) => String(number).padStart(2, "0");
    if (seconds >= 3600) return `${Math.floor(seconds / 3600)}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
    const tenth = seconds < 20 ? `.${Math.floor(rest / 100) % 10}` : "";
    return `${Math.floor(seconds / 60)}:${two(seconds % 60)}${tenth}`;
  };
  const chance = (score) => (100 * (2 / (1 + Math.exp(-BEND * score)) - 1)).toFixed(1);
  const nodesWords = (nodes) => (nodes >= 1e6 ? `${(nodes / 1e6).toFixed(1)} M` : nodes >= 1e4 ? `${Math.round(nodes / 1e3)} k` : String(nodes));

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
      this.said = [0, 1].map((side) => {
        const parts = { who: make("dt"), score: make("dd", { class: "score" }), depth: make("dd"), spent: make("dd"), pv: make("dd", { class: "pv" }) };
        parts.list = make("dl", { class: "said" }, parts.who, parts.score, parts.depth, parts.spent, parts.pv);
        parts.who.classList.add(side ? "key-black" : "key-white");
        return parts;
      });
      this.curve = draw("svg", { class: "curve", viewBox: "0 -100 100 200", preserveAspectRatio: "none", role: "img", "aria-label": "evaluations of both engines, White's view" });
      this.curve.append(draw("line", { class: "zero", x1: 0, x2: 100, y1: 0, y2: 0 }));
      this.lines = ["white", "black"].map((side) => draw("polyline", { class: side, points: "" }));
      this.curve.append(...this.lines);
      this.movetext = make("p", { class: "movetext" });
      this.opening = make("p", { class: "muted" });
      const [white, black] = this.sides.map((side) => make("div", { class: "side" }, side.name, side.clock));
      const left = make("div", {}, black, this.extra[1], this.board, white, this.extra[0]);
      const right = make("div", {}, this.said[0].list, this.said[1].list, this.curve, this.movetext, this.opening);
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

    show(told) {
      if (told.begun !== this.begun) this.scores = [];
      told.graph.forEach((score, index) => (this.scores[told.ply - told.graph.length + index] = score));
      this.begun = told.begun;
      this.told = told;
      this.since = performance.now() - 1000 * told.since;
      say(this.title, `${told.white} – ${told.black}`);
      this.sides.forEach((side, index) => {
        say(side.name, index ? told.black : told.white);
        side.name.title = `${index ? "Black" : "White"}, ${told.tc[index]}`;
        say(this.extra[index], told.extra[index] || "");
      });
      this.place(told.placement, told.last);
      const move = told.moves ? `, last moves ${told.moves.split(" ").slice(-3).join(" ")}` : "";
      this.board.setAttribute("aria-label", `${told.white} against ${told.black}, ${told.turn} to move${move}`);
      told.said.forEach((said, index) => {
        const parts = this.said[index];
        say(parts.who, index ? told.black : told.white);
        say(parts.score, said ? said.score || "–" : "–");
        say(parts.depth, said && said.depth !== null ? `depth ${said.depth}` : "");
        const spent = said && said.ms !== null ? `${(said.ms / 1000).toFixed(said.ms < 10000 ? 2 : 1)} s` : "";
        say(parts.spent, spent + (said && said.nodes !== null ? ` · ${nodesWords(said.nodes)} nodes` : ""));
        say(parts.pv, said ? said.pv : "");
      });
      this.bend(told.first);
      say(this.movetext, told.moves);
      const words = [told.opening, told.variant, told.tc[0] === told.tc[1] ? told.tc[0] : told.tc.join(" and ")];
      if (told.over) words.push("the game has ended");
      if (told.lost) words.push("moves were missed here, the board waits for the next game");
      say(this.opening, words.filter(Boolean).join(" · "));
      this.tick();
      this.element.dataset.at = told.at;
      this.element.dataset.ply = told.ply; // last: whoever watches it finds all the rest in place
    }

    bend(first) {
      const wide = Math.max(40, this.scores.length - 1);
      for (const side of [0, 1]) {
        const points = [];
        for (let ply = (side + (first === "black")) % 2; ply < this.scores.length; ply += 2) {
          const score = this.scores[ply];
          if (score !== null && score !== undefined) points.push(`${((100 * ply) / wide).toFixed(2)},${chance(-score)}`);
        }
        this.lines[side].setAttribute("points", points.join(" "));
      }
    }

    tick() {
      const told = this.told;
      const spent = performance.now() - this.since;
      told.clocks.forEach((ms, index) => {
        const runs = !told.over && running && (told.turn === "black") === (index === 1);
        const clock = this.sides[index].clock;
        clock.classList.toggle("runs", runs);
        if (ms === null) say(clock, runs ? `${(spent / 1000).toFixed(1)} s` : "");
        else say(clock, clockWords(runs ? ms - spent : ms));
      });
    }
  }

  const games = new Map();
  let running = false;

  const board = (slot, told) => {
    const key = String(slot);
    if (!games.has(key)) {
      games.set(key, new Game(key));
      const order = [...games.keys()].sort((one, other) => one - other);
      at("boards").replaceChildren(...order.map((name) => games.get(name).element));
    }
    games.get(key).show(told);
    at("boards").classList.toggle("one", games.size === 1);
    at("silence").hidden = true;
  };

  const engine = (row) => (row.slug ? make("a", { href: `${root}engines/${row.slug}.html` }, make("bdi", {}, row.name)) : make("bdi", {}, row.name));
  const cell = (value) => (value === null || value === undefined ? "" : String(value));
  const table = (told) => {
    const body = at("table").tBodies[0];
    const rows = told.rows || [];
    while (body.rows.length > rows.length) body.rows[body.rows.length - 1].remove();
    rows.forEach((row, index) => {
      if (index >= body.rows.length) {
        const made = make("tr", {}, ...["n", "", "n", "n", "n", "n", "n", "", "n"].map((kind) => make("td", { class: kind })));
        made.cells[1].replaceWith(make("th", { scope: "row" }));
        body.append(made);
      }
      const line = body.rows[index];
      if (line.cells[1].textContent !== row.name) line.cells[1].replaceChildren(engine(row));
      const words = [row.rank, null, row.points, row.games, row.elo, row.plus, row.minus, row.status, row.incidents || ""];
      words.forEach((word, column) => {
        if (column !== 1) say(line.cells[column], cell(word));
      });
    });
  };

  const gameLink = (number) => make("a", { href: `${root}games/${number}.html` }, `game ${number}`);
  const put = (list, line) => {
    list.prepend(line);
    while (list.children.length > LINES) list.lastElementChild.remove();
  };
  const decided = (line) => line.decisions.map((words) => make("span", { class: "decision" }, words));
  const gameLine = (line) => {
    const names = [make("bdi", {}, line.white), " – ", make("bdi", {}, line.black), " "];
    put(at("games"), make("li", {}, gameLink(line.number), " ", ...names, make("strong", {}, line.result), " ", make("span", { class: "muted" }, line.cause), ...decided(line)));
  };
  const incidentLine = (line) => {
    const where = line.game ? [gameLink(line.game), " "] : [];
    put(at("incidents"), make("li", {}, ...where, make("bdi", {}, line.engine), line.engine ? " " : "", line.words));
    at("none").hidden = true;
  };

  const wall = (seconds) => new Date(Date.now() + 1000 * seconds).toLocaleString("en-GB", { weekday: "short", hour: "2-digit", minute: "2-digit" });
  const progress = (told) => {
    if (told.games_done === undefined) return;
    const [fewest, most] = told.remaining.map((count) => told.games_done + count);
    const count = told.open_ended ? `${told.games_done} games, until it is known` : `${told.games_done} of ${fewest === most ? fewest : `${fewest}–${most}`} games`;
    const words = [told.system, told.state, count];
    if (told.round) words.splice(2, 0, `round ${told.round[0]} of ${told.round[1]}`);
    if (told.slots > 1) words.push(`${told.slots} slots`);
    if (typeof told.eta === "number" && most > told.games_done) {
      const end = wall(told.eta);
      const [first, last] = (told.eta_range || [told.eta, told.eta]).map((seconds) => wall(seconds).replace(end.split(" ")[0], "").trim());
      words.push(`ends ${end}${first === last ? "" : ` (${first} to ${last})`}`);
    }
    if (told.incidents) words.push(told.incidents === 1 ? "1 incident" : `${told.incidents} incidents`);
    say(at("headline"), words.join(" · "));
    const warnings = told.state === "stopped" || told.state === "finished" ? [] : told.warnings || [];
    say(at("banner"), warnings.length ? `Warning: ${warnings.join(" · ")}` : "");
    at("banner").hidden = !warnings.length;
  };

  const all = (told) => {
    running = told.running;
    for (const [slot, game] of games) {
      if (!(slot in told.games)) {
        game.element.remove();
        games.delete(slot);
      }
    }
    at("silence").hidden = games.size > 0 || running;
    for (const [slot, game] of Object.entries(told.games)) board(slot, game);
    progress(told.progress);
    table(told.table);
    at("games").replaceChildren();
    told.lines.forEach(gameLine);
    at("incidents").replaceChildren();
    told.incidents.forEach(incidentLine);
    at("none").hidden = told.incidents.length > 0;
  };

  let source = null;
  let later = 0;
  const close = () => {
    clearTimeout(later);
    if (source !== null) source.close();
    source = null;
  };
  const open = () => {
    clearTimeout(later);
    if (source !== null || document.hidden) return; // browsers have six connections to a host: none for what nobody sees
    source = new EventSource(live.dataset.events);
    const hear = (name, act) => source.addEventListener(name, (event) => act(JSON.parse(event.data)));
    hear("all", all);
    hear("board", (told) => board(told.slot, told));
    hear("table", table);
    hear("progress", progress);
    hear("game-line", gameLine);
    hear("incident-line", incidentLine);
    source.addEventListener("open", () => say(at("line"), ""));
    source.addEventListener("error", () => {
      say(at("line"), "The connection is lost; this page keeps trying. What it shows is as it was.");
      if (source !== null && source.readyState === EventSource.CLOSED) {
        close();
        later = setTimeout(open, AGAIN_MS);
      }
    });
  };
  document.addEventListener("visibilitychange", () => {
    clearTimeout(later);
    if (document.hidden) later = setTimeout(close, AWAY_MS);
    else open();
  });
  addEventListener("pagehide", close);
  addEventListener("pageshow", open);
  setInterval(() => {
    if (!document.hidden && running) for (const game of games.values()) game.tick();
  }, TICK_MS);
})();
